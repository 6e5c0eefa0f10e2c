/*-------------------------------------------------------------------------
 *
 * hot_test.c
 *	  Test driver for the stores: hot blocks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "stores_test.h"
#include "store/hotblocks.h"

SQL_FUNCTION(hot_add);
SQL_FUNCTION(hot_write);
SQL_FUNCTION(hot_read);
SQL_FUNCTION(hot_sums);
SQL_FUNCTION(hot_relation);

/* At the moment of the next tick; no waiters: only the rest. */
static void
add_wait(int32 relation, int32 block, int32 waiters, int32 shared,
		 int64 time_ns, int64 rest_ns)
{
	WscBlockWait wait = {0};

	wait.block.reltablespace = 1663;
	wait.block.datid = 5;
	wait.block.relfilenode = (Oid) relation;
	wait.block.relblocknumber = (uint32) block;
	wait.waiters = waiters;
	wait.shared = shared;
	wait.exclusive = waiters - shared;
	WscHotBlocksAdd(control->next_tick++, &wait, waiters > 0 ? 1 : 0, time_ns,
					rest_ns);
}

/*
 * hot_add(relation integer, block integer, waiters integer, shared integer,
 * time_ns bigint, rest_ns bigint)
 */
Datum
hot_add(PG_FUNCTION_ARGS)
{
	attach_stores();
	add_wait(PG_GETARG_INT32(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2),
			 PG_GETARG_INT32(3), PG_GETARG_INT64(4), PG_GETARG_INT64(5));
	PG_RETURN_VOID();
}

/* hot_write(ms integer, relations integer, blocks integer) bigint: samples */
Datum
hot_write(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	uint32		relations = (uint32) PG_GETARG_INT32(1);
	uint32		blocks = (uint32) PG_GETARG_INT32(2);
	int64		written = 0;
	instr_time	start;

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	while (!time_is_up(start, ms))
	{
		uint32		number = mix((uint64) written++, 13);

		add_wait((int32) (number % relations) + 1,
				 (int32) (number / relations % blocks), 1, 0,
				 TEST_WEIGHT_NS, 0);
	}
	PG_RETURN_INT64(written);
}

static bool
are_sound(const WscHotTotals *totals)
{
	return totals->exclusive_samples == totals->samples &&
		totals->time_ns == totals->samples * TEST_WEIGHT_NS;
}

static bool
is_torn(const WscHotRelation *relation)
{
	int64		samples = 0;

	for (int i = 0; i < relation->num_blocks; i++)
	{
		if (!are_sound(&relation->blocks[i].totals))
			return true;
		samples += relation->blocks[i].totals.samples;
	}
	return !are_sound(&relation->totals) ||
		samples > relation->totals.samples;
}

/*
 * hot_read(ms integer, OUT passes bigint, OUT checked bigint,
 * OUT torn bigint): rows that hot_write() cannot have written
 */
Datum
hot_read(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	Findings	found = {0};
	instr_time	start;

	attach_stores();
	INSTR_TIME_SET_CURRENT(start);
	do
	{
		WscHotRelation relation;

		for (int i = 0; i <= WSC_HOT_RELATIONS; i++)
		{
			if (!WscHotBlocksRead(i, &relation))
				continue;
			found.checked++;
			if (is_torn(&relation))
				found.torn++;
		}
		found.passes++;
	} while (!time_is_up(start, ms));
	return report(fcinfo, &found);
}

/*
 * hot_sums(OUT relations bigint, OUT samples bigint, OUT time_ns bigint,
 * OUT other_samples bigint, OUT other_time_ns bigint): of all rows
 */
Datum
hot_sums(PG_FUNCTION_ARGS)
{
	WscHotRelation relation;
	int64		sums[5] = {0};
	Datum		values[5];

	attach_stores();
	for (int i = 0; i <= WSC_HOT_RELATIONS; i++)
	{
		if (!WscHotBlocksRead(i, &relation))
			continue;
		sums[1] += relation.totals.samples;
		sums[2] += relation.totals.time_ns;
		if (i < WSC_HOT_RELATIONS)
		{
			sums[0]++;
			continue;
		}
		sums[3] = relation.totals.samples;
		sums[4] = relation.totals.time_ns;
	}
	for (int i = 0; i < 5; i++)
		values[i] = Int64GetDatum(sums[i]);
	return make_row(fcinfo, values);
}

/*
 * hot_relation(relation integer) text: "samples shared exclusive time:", then
 * "block=samples" each; NULL if it has no row
 */
Datum
hot_relation(PG_FUNCTION_ARGS)
{
	attach_stores();
	for (int i = 0; i < WSC_HOT_RELATIONS; i++)
	{
		WscHotRelation relation;
		StringInfoData said;

		if (!WscHotBlocksRead(i, &relation) ||
			relation.key.relfilenode != (Oid) PG_GETARG_INT32(0))
			continue;
		initStringInfo(&said);
		appendStringInfo(&said, INT64_FORMAT " " INT64_FORMAT " " INT64_FORMAT
						 " " INT64_FORMAT ":", relation.totals.samples,
						 relation.totals.shared_samples,
						 relation.totals.exclusive_samples,
						 relation.totals.time_ns);
		for (int b = 0; b < relation.num_blocks; b++)
			appendStringInfo(&said, " %u=" INT64_FORMAT,
							 relation.blocks[b].relblocknumber,
							 relation.blocks[b].totals.samples);
		PG_RETURN_TEXT_P(cstring_to_text(said.data));
	}
	PG_RETURN_NULL();
}
