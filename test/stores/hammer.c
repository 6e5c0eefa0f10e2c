/*-------------------------------------------------------------------------
 *
 * hammer.c
 *	  Test driver for the stores: writers at full speed, readers that check.
 *
 * Every record that is written is a function of a number in it, so that a
 * reader can tell a whole one from a mixture of two.  "torn" counts what is
 * no such function, or stands under another tick than its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"

#include "stores_test.h"
#include "store/events.h"
#include "store/lwlocks.h"
#include "store/ring.h"

SQL_FUNCTION(ring_write);
SQL_FUNCTION(ring_read);
SQL_FUNCTION(ring_read_parked);
SQL_FUNCTION(ring_read_reset);
SQL_FUNCTION(ring_skip);
SQL_FUNCTION(totals_write);
SQL_FUNCTION(totals_read);

static WscSample samples[TEST_MAX_SAMPLES];

/* Ring. */

static void
make_ring_sample(int64 seq, int64 tick, WscSample *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample->queryid = seq;
	sample->pid = (int32) (mix((uint64) seq, 1) >> 1);
	sample->leader_pid = (int32) (mix((uint64) seq, 2) >> 1);
	sample->datid = mix((uint64) seq, 3);
	sample->usesysid = mix((uint64) tick, 4);
	sample->wait_event_info = mix((uint64) seq, 5);
	sample->lock_datid = mix((uint64) seq, (uint64) tick);
	sample->lock_relid = mix((uint64) seq, 6);
	sample->event = (WscEventId) (seq % WSC_MAX_EVENTS);
	sample->backend_type = (uint8) mix((uint64) seq, 7);
	sample->lock_mode = (uint8) mix((uint64) seq, 8);
	sample->flags = (uint8) mix((uint64) seq, 9);
}

/* Returns the time that the store took for it. */
static double
write_ring_tick(int n)
{
	WscTick		tick = {0};
	instr_time	start;
	int			i;

	tick.sampled_at = control->next_tick++;
	tick.mono_ns = tick.sampled_at * 1000;
	tick.weight_ns = mix((uint64) tick.sampled_at, 10);
	for (i = 0; i < n; i++)
		make_ring_sample(control->next_seq++, tick.sampled_at, &samples[i]);
	INSTR_TIME_SET_CURRENT(start);
	WscRingAdd(&tick, samples, n);
	return elapsed_ns(start);
}

/*
 * ring_write(ms integer, per_tick integer, OUT ticks bigint,
 * OUT ns_per_record float8): ms = 0: one tick
 */
Datum
ring_write(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	int			per_tick = check_tick_size(PG_GETARG_INT32(1));
	int64		ticks = 0;
	double		ns = 0;
	instr_time	start;
	Datum		values[2];

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	while (ms > 0 ? !time_is_up(start, ms) : ticks == 0)
	{
		ns += write_ring_tick(per_tick);
		ticks++;
		pg_atomic_fetch_add_u64(&control->written, 1);
	}
	values[0] = Int64GetDatum(ticks);
	values[1] = Float8GetDatum(ns / (double) (ticks * (per_tick + 1)));
	return make_row(fcinfo, values);
}

static bool
next_checked(WscRingReader *reader, int64 *last_seq, Findings *found)
{
	WscSample	sample;
	WscSample	expected;
	TimestampTz sampled_at;
	int64		weight_ns;

	if (!WscRingNext(reader, &sample, &sampled_at, &weight_ns))
		return false;
	make_ring_sample(sample.queryid, sampled_at, &expected);
	found->checked++;
	if (memcmp(&sample, &expected, sizeof(sample)) != 0 ||
		weight_ns != mix((uint64) sampled_at, 10) ||
		sample.queryid <= *last_seq)
		found->torn++;
	*last_seq = sample.queryid;
	return true;
}

/*
 * ring_read(ms integer, OUT passes bigint, OUT checked bigint,
 * OUT torn bigint): passes over the whole ring, at least one
 */
Datum
ring_read(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	Findings	found = {0};
	instr_time	start;

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	do
	{
		WscRingReader *reader = WscRingOpen();
		int64		last_seq = 0;

		while (next_checked(reader, &last_seq, &found))
			;
		pfree(reader);
		found.passes++;
	} while (!time_is_up(start, ms));
	return report(fcinfo, &found);
}

/*
 * ring_read_parked(OUT ...): one pass that stops its own process after the
 * first sample; whoever wants to see the rest sends SIGCONT
 */
Datum
ring_read_parked(PG_FUNCTION_ARGS)
{
	Findings	found = {0};
	WscRingReader *reader;
	int64		last_seq = 0;

	attach_stores();
	reader = WscRingOpen();
	if (!next_checked(reader, &last_seq, &found))
		elog(ERROR, "the ring is empty");
	pg_atomic_write_u32(&control->parked, (uint32) MyProcPid);
	raise(SIGSTOP);
	while (next_checked(reader, &last_seq, &found))
		;
	found.passes = 1;
	return report(fcinfo, &found);
}

/*
 * ring_skip(back bigint, skip boolean, OUT got bigint, OUT surplus bigint):
 * samples of the last ticks, and older ones that a reader that was told to
 * skip them returned nevertheless
 */
Datum
ring_skip(PG_FUNCTION_ARGS)
{
	TimestampTz since;
	WscRingReader *reader;
	WscSample	sample;
	TimestampTz sampled_at;
	int64		weight_ns;
	int64		got = 0;
	int64		surplus = 0;
	Datum		values[2];

	attach_stores();
	since = control->next_tick - PG_GETARG_INT64(0);
	reader = WscRingOpen();
	if (PG_GETARG_BOOL(1))
		WscRingSkipTo(reader, since);
	while (WscRingNext(reader, &sample, &sampled_at, &weight_ns))
	{
		if (sampled_at >= since)
			got++;
		else
			surplus++;
	}
	values[0] = Int64GetDatum(got);
	values[1] = Int64GetDatum(surplus);
	return make_row(fcinfo, values);
}

/*
 * ring_read_reset(OUT before bigint, OUT pending bigint, OUT after bigint):
 * samples got by readers opened before a reset, between reset and adoption,
 * and after the adoption by a tick of one sample; each reads after it
 */
Datum
ring_read_reset(PG_FUNCTION_ARGS)
{
	WscRingReader *readers[3];
	Datum		got[3];
	int			i;

	attach_stores();
	readers[0] = WscRingOpen();
	WscRingReset(1);
	readers[1] = WscRingOpen();
	write_ring_tick(1);
	readers[2] = WscRingOpen();
	for (i = 0; i < 3; i++)
	{
		Findings	found = {0};
		int64		last_seq = 0;

		while (next_checked(readers[i], &last_seq, &found))
			;
		got[i] = Int64GetDatum(found.checked);
	}
	return make_row(fcinfo, got);
}

/* Events and LWLocks: rows that are never removed. */

/*
 * totals_write(ms integer, events integer, OUT samples bigint): both stores,
 * 100 samples a tick of that many events at random
 */
Datum
totals_write(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	uint32		nevents = (uint32) PG_GETARG_INT32(1);
	int64		written = 0;
	instr_time	start;
	WscTick		tick = {0};

	attach_stores();
	tick.weight_ns = TEST_WEIGHT_NS;
	INSTR_TIME_SET_CURRENT(start);
	while (!time_is_up(start, ms))
	{
		int			i;

		tick.mono_ns += 1000000;
		for (i = 0; i < 100; i++)
		{
			uint32		random = mix((uint64) control->next_seq++, 12);
			WscSample  *sample = &samples[i];

			memset(sample, 0, sizeof(*sample));
			sample->event = (WscEventId) (random % nevents);
			sample->wait_event_info = PG_WAIT_LWLOCK;
			sample->lwlock_mode = (uint8) (1 + (random >> 16) % 3);
			sample->state_class =
				(random >> 20) % 2 ? WSC_FOREGROUND : WSC_BACKGROUND;
		}
		WscEventsAdd(&tick, samples, 100);
		WscLWLocksAdd(&tick, samples, 100);
		written += 100;
		pg_atomic_fetch_add_u64(&control->written, 1);
	}
	PG_RETURN_INT64(written);
}

static bool
totals_whole(const WscEventTotals *totals)
{
	return totals->time_ns == totals->samples * TEST_WEIGHT_NS &&
		totals->background_time_ns ==
		totals->background_samples * TEST_WEIGHT_NS;
}

static bool
lwlock_totals_whole(const WscLWLockTotals *totals)
{
	return totals->time_ns == totals->samples * TEST_WEIGHT_NS &&
		totals->samples == totals->shared_samples +
		totals->exclusive_samples + totals->until_free_samples &&
		totals->samples == totals->waiter_sum &&
		totals->waiting_ticks <= totals->waiter_sum &&
		totals->max_waiters >= 1 && totals->max_waiters <= 100;
}

/*
 * totals_read(ms integer, OUT passes bigint, OUT samples bigint,
 * OUT torn bigint): samples of the last pass over the events, both kinds
 */
Datum
totals_read(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	Findings	found = {0};
	instr_time	start;

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	do
	{
		int			i;

		found.checked = 0;
		for (i = 0; i < WSC_MAX_EVENTS; i++)
		{
			WscEventTotals totals;
			WscLWLockTotals lwlock;

			if (WscEventsRead((WscEventId) i, &totals))
			{
				found.checked += totals.samples + totals.background_samples;
				if (!totals_whole(&totals))
					found.torn++;
			}
			if (WscLWLocksRead((WscEventId) i, &lwlock) &&
				!lwlock_totals_whole(&lwlock))
				found.torn++;
		}
		found.passes++;
	} while (!time_is_up(start, ms));
	return report(fcinfo, &found);
}
