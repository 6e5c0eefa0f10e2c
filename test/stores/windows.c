/*-------------------------------------------------------------------------
 *
 * windows.c
 *	  Test driver for the stores: ticks at chosen moments, and what the
 *	  stores say about them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stores_test.h"
#include "store/eventdict.h"
#include "store/events.h"
#include "store/lwlocks.h"
#include "store/profile.h"
#include "store/ring.h"

SQL_FUNCTION(feed);
SQL_FUNCTION(events_window);
SQL_FUNCTION(events_totals);
SQL_FUNCTION(lwlock_totals);

static WscSample samples[TEST_MAX_SAMPLES];

static int64
ms_to_ns(double ms)
{
	return (int64) (ms * 1e6);
}

/*
 * feed(first_ms float8, ticks integer, period_ms float8, weight_ms float8,
 * sessions integer, code bigint, state_class integer, lwlock_mode integer):
 * so many ticks to all stores, the first at first_ms of the monotonic clock,
 * each with so many equal samples
 */
Datum
feed(PG_FUNCTION_ARGS)
{
	double		moment_ms = PG_GETARG_FLOAT8(0);
	int			ticks = PG_GETARG_INT32(1);
	double		period_ms = PG_GETARG_FLOAT8(2);
	int			sessions = check_tick_size(PG_GETARG_INT32(4));
	WscTick		tick = {0};
	int			i;

	attach_stores();
	memset(samples, 0, sizeof(samples));
	for (i = 0; i < sessions; i++)
	{
		samples[i].pid = 1 + i;
		samples[i].queryid = 42;
		samples[i].wait_event_info = (uint32) PG_GETARG_INT64(5);
		samples[i].event = WscEventDictId(samples[i].wait_event_info);
		samples[i].state_class = (uint8) PG_GETARG_INT32(6);
		samples[i].lwlock_mode = (uint8) PG_GETARG_INT32(7);
	}

	tick.weight_ns = ms_to_ns(PG_GETARG_FLOAT8(3));
	for (i = 0; i < ticks; i++)
	{
		tick.sampled_at = control->next_tick++;
		tick.mono_ns = ms_to_ns(moment_ms);
		WscRingAdd(&tick, samples, sessions);
		WscEventsAdd(&tick, samples, sessions);
		WscProfileAdd(&tick, samples, sessions);
		WscLWLocksAdd(&tick, samples, sessions);
		moment_ms += period_ms;
	}
	PG_RETURN_VOID();
}

/*
 * events_window(now_ms float8, window_ms float8, code bigint,
 * OUT time_ms float8, OUT covered_ms float8): NULL if it is not known
 */
Datum
events_window(PG_FUNCTION_ARGS)
{
	WscEventId	event = WscEventDictId((uint32) PG_GETARG_INT64(2));
	int64	   *time_ns = palloc(WSC_MAX_EVENTS * sizeof(int64));
	int64		covered_ns;
	Datum		values[2];

	attach_stores();
	if (!WscEventsWindow(ms_to_ns(PG_GETARG_FLOAT8(0)),
						 ms_to_ns(PG_GETARG_FLOAT8(1)), time_ns,
						 &covered_ns))
		PG_RETURN_NULL();
	values[0] = Float8GetDatum((double) time_ns[event] / 1e6);
	values[1] = Float8GetDatum((double) covered_ns / 1e6);
	return make_row(fcinfo, values);
}

/*
 * events_totals(code bigint, OUT samples bigint, OUT time_ms float8,
 * OUT background_samples bigint, OUT background_time_ms float8)
 */
Datum
events_totals(PG_FUNCTION_ARGS)
{
	WscEventTotals totals;
	Datum		values[4];

	attach_stores();
	if (!WscEventsRead(WscEventDictId((uint32) PG_GETARG_INT64(0)), &totals))
		PG_RETURN_NULL();
	values[0] = Int64GetDatum(totals.samples);
	values[1] = Float8GetDatum((double) totals.time_ns / 1e6);
	values[2] = Int64GetDatum(totals.background_samples);
	values[3] = Float8GetDatum((double) totals.background_time_ns / 1e6);
	return make_row(fcinfo, values);
}

/*
 * lwlock_totals(code bigint, OUT samples bigint, OUT time_ms float8,
 * OUT shared bigint, OUT exclusive bigint, OUT until_free bigint,
 * OUT waiting_ticks bigint, OUT waiter_sum bigint, OUT max_waiters bigint)
 */
Datum
lwlock_totals(PG_FUNCTION_ARGS)
{
	WscLWLockTotals totals;
	Datum		values[8];

	attach_stores();
	if (!WscLWLocksRead(WscEventDictId((uint32) PG_GETARG_INT64(0)),
						&totals))
		PG_RETURN_NULL();
	values[0] = Int64GetDatum(totals.samples);
	values[1] = Float8GetDatum((double) totals.time_ns / 1e6);
	values[2] = Int64GetDatum(totals.shared_samples);
	values[3] = Int64GetDatum(totals.exclusive_samples);
	values[4] = Int64GetDatum(totals.until_free_samples);
	values[5] = Int64GetDatum(totals.waiting_ticks);
	values[6] = Int64GetDatum(totals.waiter_sum);
	values[7] = Int64GetDatum(totals.max_waiters);
	return make_row(fcinfo, values);
}
