/*-------------------------------------------------------------------------
 *
 * view_sample.c
 *	  pg_waitscope_sample(): sampling by the calling backend, for a while.
 *
 * Works without preloading.  The same grid, scan and weights as in the
 * sampler, but the sums are kept in the backend's own memory, which is
 * bounded: when there are too many groups, database and query id of further
 * ones are dropped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "port/compat.h"
#include "port/timer.h"
#include "port/wait_events.h"
#include "sample/grid.h"
#include "sample/scan.h"
#include "store/eventdict.h"
#include "view.h"

#define NS_PER_MS INT64CONST(1000000)

/* An hour of samples is plenty, and a snapshot is held all the time. */
#define MIN_DURATION_MS 10.0
#define MAX_DURATION_MS 3600000.0

/* As the setting for the sampler. */
#define MIN_PERIOD_MS 0.1
#define MAX_PERIOD_MS 10000.0

/* About 1 MB. */
#define MAX_GROUPS 10000

typedef struct GroupKey
{
	int64		queryid;
	uint32		wait_event_info;
	uint32		lwlock_mode;
	Oid			datid;
	uint32		unused;			/* hashed as bytes: no hole */
} GroupKey;

typedef struct Group
{
	GroupKey	key;
	int64		samples;
	int64		time_ns;
} Group;

typedef struct Totals
{
	HTAB	   *groups;
	WscPrivileges privileges;
	int64		ticks;
	int64		ticks_missed;
	int64		covered_ns;
} Totals;

WSC_SQL_FUNCTION(pg_waitscope_sample);

static HTAB *
create_groups(void)
{
	HASHCTL		ctl;

	memset(&ctl, 0, sizeof(ctl));
	ctl.keysize = sizeof(GroupKey);
	ctl.entrysize = sizeof(Group);
	ctl.hcxt = CurrentMemoryContext;
	return hash_create("pg_waitscope_sample groups", 256, &ctl,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
add_sample(Totals *totals, const WscSample *sample, int64 weight_ns)
{
	GroupKey	key;
	Group	   *group;
	bool		found;

	memset(&key, 0, sizeof(key));
	key.wait_event_info = sample->wait_event_info;
	key.lwlock_mode = sample->lwlock_mode;
	if (WscMaySeeRole(&totals->privileges, sample->usesysid))
	{
		key.queryid = sample->queryid;
		key.datid = sample->datid;
	}
	group = hash_search(totals->groups, &key, HASH_FIND, &found);
	if (!found)
	{
		if (hash_get_num_entries(totals->groups) >= MAX_GROUPS)
		{
			key.queryid = 0;
			key.datid = InvalidOid;
		}
		group = hash_search(totals->groups, &key, HASH_ENTER, &found);
	}
	if (!found)
	{
		group->samples = 0;
		group->time_ns = 0;
	}
	group->samples++;
	group->time_ns += weight_ns;
}

/* Takes a tick in each of a number of cells of the grid. */
static void
collect(Totals *totals, int64 cells, int64 period_ns)
{
	WscScanner *scanner = WscScannerCreate();
	WscSample  *samples = palloc0(sizeof(WscSample) *
								  (Size) WscScannerSlots(scanner));
	WscScanOptions options = {0};
	uint32		wait_event = WscNewWaitEvent("PgWaitscopeSample");
	WscTimer   *timer = WscTimerCreate();
	int64		now = WscTimerNow();
	int64		end_cell;
	WscGrid		grid;

	WscGridStart(&grid, period_ns, true,
				 (uint64) now ^ ((uint64) MyProcPid << 32), now);
	end_cell = grid.cell + cells;
	PG_TRY();
	{
		while (grid.cell < end_cell)
		{
			WscGridTick tick;
			uint32		counts[WSC_NUM_STATE_CLASSES];
			int			n;

			WscTimerWait(timer, grid.next_ns, wait_event);
			CHECK_FOR_INTERRUPTS();
			if (!WscGridTake(&grid, WscTimerNow(), &tick))
				continue;
			totals->ticks++;
			totals->ticks_missed += tick.missed;
			totals->covered_ns += tick.weight_ns;
			n = WscScan(scanner, &options, samples, counts);
			for (int i = 0; i < n; i++)
			{
				if (samples[i].state_class == WSC_FOREGROUND)
					add_sample(totals, &samples[i], tick.weight_ns);
			}
		}
	}
	PG_FINALLY();
	{
		WscTimerDestroy(timer);
	}
	PG_END_TRY();
}

static void
put_group(WscRows *rows, const Totals *totals, const Group *group)
{
	WscEventName name;

	WscEventCodeName(group->key.wait_event_info, &name);
	WscPutText(rows, name.type);
	WscPutText(rows, name.name);
	WscPutText(rows, WscLWLockModeName((int) group->key.lwlock_mode));
	WscPutOidOrNull(rows, group->key.datid);
	WscPutInt64OrNull(rows, group->key.queryid);
	WscPutInt64(rows, group->samples);
	WscPut(rows, Float8GetDatum((double) group->time_ns /
								(double) totals->covered_ns));
	WscPutInt64(rows, totals->ticks);
	WscPutInt64(rows, totals->ticks_missed);
	WscRowsEnd(rows);
}

/* Also a quiet time has a row: it tells how often was looked. */
static void
put_quiet_row(WscRows *rows, const Totals *totals)
{
	for (int i = 0; i < 5; i++)
		WscPutNull(rows);
	WscPutInt64(rows, 0);
	WscPut(rows, Float8GetDatum(0.0));
	WscPutInt64(rows, totals->ticks);
	WscPutInt64(rows, totals->ticks_missed);
	WscRowsEnd(rows);
}

Datum
pg_waitscope_sample(PG_FUNCTION_ARGS)
{
	double		duration_ms = WscGetIntervalMs(fcinfo, 0, "duration",
											   MIN_DURATION_MS,
											   MAX_DURATION_MS);
	double		period_ms = WscGetIntervalMs(fcinfo, 1, "period",
											 MIN_PERIOD_MS,
											 Min(MAX_PERIOD_MS, duration_ms));
	HASH_SEQ_STATUS scan;
	Totals		totals;
	WscRows		rows;
	Group	   *group;

	memset(&totals, 0, sizeof(totals));
	totals.groups = create_groups();
	WscPrivilegesBegin(&totals.privileges);
	WscRowsBegin(&rows, fcinfo);

	collect(&totals, (int64) rint(duration_ms / period_ms),
			(int64) rint(period_ms * NS_PER_MS));

	hash_seq_init(&scan, totals.groups);
	while ((group = hash_seq_search(&scan)) != NULL)
		put_group(&rows, &totals, group);
	if (hash_get_num_entries(totals.groups) == 0)
		put_quiet_row(&rows, &totals);
	return (Datum) 0;
}
