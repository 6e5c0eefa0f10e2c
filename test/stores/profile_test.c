/*-------------------------------------------------------------------------
 *
 * profile_test.c
 *	  Test driver for the stores: the profile, seen from outside and within.
 *
 * The store is included as source, so that what its files keep for
 * themselves can be checked, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stores_test.h"
#include "store/profile.c"

SQL_FUNCTION(profile_write);
SQL_FUNCTION(profile_hammer);
SQL_FUNCTION(profile_read);
SQL_FUNCTION(profile_at_rest);
SQL_FUNCTION(profile_revisit);

static WscSample samples[TEST_MAX_SAMPLES];

/* Numbers of keys are below. */
#define NUMBERS INT64CONST(1000000)

static void
make_profile_sample(int64 number, WscSample *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample->queryid = number;
	sample->datid = mix((uint64) number, 1);
	sample->usesysid = mix((uint64) number, 2);
	sample->event = (WscEventId) (number % WSC_MAX_EVENTS);
	sample->backend_type = (uint8) (number % 7);
	sample->state_class = WSC_FOREGROUND;
}

/*
 * profile_write(ms integer, keys integer, per_tick integer,
 * OUT samples bigint, OUT ns_per_update float8): keys at random; ms = 0:
 * every key once, in order.  The time is that of the updates alone.
 */
Datum
profile_write(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	uint64		keys = (uint64) PG_GETARG_INT32(1);
	int			per_tick = check_tick_size(PG_GETARG_INT32(2));
	int64		written = 0;
	double		ns = 0;
	instr_time	start;
	instr_time	tick_start;
	WscTick		tick = {0};
	Datum		values[2];

	attach_stores();
	tick.weight_ns = TEST_WEIGHT_NS;
	INSTR_TIME_SET_CURRENT(start);
	while (ms > 0 ? !time_is_up(start, ms) : written < (int64) keys)
	{
		int			n = per_tick;
		int			i;

		if (ms == 0)
			n = (int) Min((int64) n, (int64) keys - written);
		tick.sampled_at = control->next_tick++;
		for (i = 0; i < n; i++)
		{
			uint64		number = (uint64) written++;

			if (ms > 0)
				number = mix((uint64) control->next_seq++, 11);
			make_profile_sample((int64) (number % keys) + 1, &samples[i]);
		}
		INSTR_TIME_SET_CURRENT(tick_start);
		WscProfileAdd(&tick, samples, n);
		ns += elapsed_ns(tick_start);
	}
	values[0] = Int64GetDatum(written);
	values[1] = Float8GetDatum(ns / (double) Max(written, 1));
	return make_row(fcinfo, values);
}

/*
 * profile_hammer(ms integer, keys integer, OUT samples bigint): a sample a
 * tick, of a key at random, whose number is in the tick's weight and moment
 */
Datum
profile_hammer(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	uint32		keys = (uint32) PG_GETARG_INT32(1);
	int64		written = 0;
	instr_time	start;
	WscTick		tick = {0};

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	while (written % 64 != 0 || !time_is_up(start, ms))
	{
		int64		number =
		mix((uint64) control->next_seq++, 11) % keys + 1;

		make_profile_sample(number, &samples[0]);
		tick.sampled_at = (written + 1) * NUMBERS + number;
		tick.weight_ns = number;
		WscProfileAdd(&tick, samples, 1);
		written++;
		pg_atomic_write_u64(&control->written, (uint64) written);
	}
	PG_RETURN_INT64(written);
}

static bool
profile_entry_whole(const WscProfileEntry *entry)
{
	int64		number = entry->key.queryid;
	WscSample	expected;

	make_profile_sample(number, &expected);
	return entry->key.datid == expected.datid &&
		entry->key.usesysid == expected.usesysid &&
		entry->key.event == expected.event &&
		entry->key.backend_type == expected.backend_type &&
		entry->samples > 0 &&
		entry->time_ns == entry->samples * number &&
		entry->first_seen % NUMBERS == number &&
		entry->last_seen % NUMBERS == number &&
		(entry->samples == 1) == (entry->first_seen == entry->last_seen);
}

/*
 * profile_read(ms integer, OUT ...): passes over all slots, at least one, that
 * expect entries of profile_hammer()
 */
Datum
profile_read(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	Findings	found = {0};
	instr_time	start;

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	do
	{
		int			i;

		for (i = 0; i < WscProfileSlots(); i++)
		{
			WscProfileEntry entry;

			if (!WscProfileRead(i, &entry))
				continue;
			found.checked++;
			if (!profile_entry_whole(&entry))
				found.torn++;
		}
		found.passes++;
	} while (!time_is_up(start, ms));
	return report(fcinfo, &found);
}

static int
compare_numbers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* All query ids in the profile, which must be at rest. */
static int
collect_queryids(int64 *queryids, int64 *sum)
{
	int			n = 0;
	int			i;

	*sum = 0;
	for (i = 0; i < WscProfileSlots(); i++)
	{
		WscProfileEntry entry;

		if (!WscProfileRead(i, &entry))
			continue;
		queryids[n++] = entry.key.queryid;
		*sum += entry.samples;
	}
	return n;
}

/*
 * What is wrong with the table, counted: slots that are passed by another
 * number of paths than they say, ranks that are too high or 0 for their
 * entries, a wrong number of entries.
 */
static int64
count_faults(void)
{
	int			nslots = profile->head.nslots;
	int		   *passed = palloc0((Size) nslots * sizeof(int));
	int64		faults = 0;
	int			live = 0;
	int			i;

	for (i = 0; i < nslots; i++)
	{
		ProfileSlot *slot = &profile->slots[i];
		int			rank = 0;
		uint32		on_path;

		if (slot->live)
		{
			live++;
			on_path = home_slot(&slot->entry.key);
			for (; on_path != (uint32) i; on_path = next_slot(on_path))
				passed[on_path]++;
			rank = pg_leftmost_one_pos64((uint64) slot->entry.samples) + 1;
		}
		if (*rank_of((uint32) i) > rank ||
			(*rank_of((uint32) i) == 0) != (rank == 0))
			faults++;
	}
	for (i = 0; i < nslots; i++)
	{
		if (profile->slots[i].passed != passed[i])
			faults++;
	}
	if ((int) pg_atomic_read_u32(&profile->head.nentries) != live)
		faults++;
	return faults;
}

/*
 * profile_at_rest(OUT entries bigint, OUT keys bigint, OUT samples bigint,
 * OUT faults bigint): two entries with one key are one too many
 */
Datum
profile_at_rest(PG_FUNCTION_ARGS)
{
	int64	   *queryids;
	int64		sum;
	int64		keys = 0;
	int			n;
	int			i;
	Datum		values[4];

	attach_stores();
	queryids = palloc((Size) WscProfileSlots() * sizeof(int64));
	n = collect_queryids(queryids, &sum);
	qsort(queryids, (size_t) n, sizeof(int64), compare_numbers);
	for (i = 0; i < n; i++)
	{
		if (i == 0 || queryids[i] != queryids[i - 1])
			keys++;
	}
	values[0] = Int64GetDatum(n);
	values[1] = Int64GetDatum(keys);
	values[2] = Int64GetDatum(sum);
	values[3] = Int64GetDatum(count_faults());
	return make_row(fcinfo, values);
}

/*
 * profile_revisit() bigint: adds a sample to every entry there is; how many
 * evictions that caused (none, if all entries are found again)
 */
Datum
profile_revisit(PG_FUNCTION_ARGS)
{
	WscStoreInfo before;
	WscStoreInfo after;
	WscTick		tick = {0};
	int64	   *queryids;
	int64		sum;
	int			n;
	int			i;

	attach_stores();
	queryids = palloc((Size) WscProfileSlots() * sizeof(int64));
	n = collect_queryids(queryids, &sum);
	tick.weight_ns = TEST_WEIGHT_NS;
	tick.sampled_at = control->next_tick++;
	WscProfileInfo(&before);
	for (i = 0; i < n; i++)
	{
		make_profile_sample(queryids[i], &samples[0]);
		WscProfileAdd(&tick, samples, 1);
	}
	WscProfileInfo(&after);
	PG_RETURN_INT64(after.evictions - before.evictions);
}
