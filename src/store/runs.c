/*-------------------------------------------------------------------------
 *
 * runs.c
 *	  How long waits are, estimated from samples in a row.
 *
 * One row per event id; the table never evicts.  The runs that go on have one
 * place per slot of the process array, and are in a list, so that those that a
 * tick has not seen are found.  Samples without a wait make no run.
 *
 * The sampler is the only writer and takes no lock; a row is guarded by its
 * change counter (see store.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/runs.h"
#include "port/shmem_compat.h"

/* Written by the sampler. */
typedef struct RunRow
{
	pg_atomic_uint32 changes;	/* odd while totals change */
	WscRunTotals totals;
} RunRow;

/* A run that goes on. */
typedef struct Run
{
	int32		pid;			/* 0: none */
	WscEventId	event;
	int64		length_ns;		/* so far */
	uint64		tick;			/* number of the tick that saw it last */
} Run;

typedef struct WscRuns
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: rows they could not get */
	RunRow		rows[WSC_MAX_EVENTS];

	/* Writer's own. */
	uint64		tick;
	int			num_open;
	Run			by_slot[FLEXIBLE_ARRAY_MEMBER]; /* then the list of open ones */
} WscRuns;

static WscRuns *runs;
static int *open_slots;			/* behind by_slot */

Size
WscRunsSize(void)
{
	return add_size(offsetof(WscRuns, by_slot),
					mul_size(sizeof(Run) + sizeof(int),
							 (Size) WscMaxProcs()));
}

void
WscRunsAttach(void *mem, bool found)
{
	runs = mem;
	open_slots = (int *) &runs->by_slot[WscMaxProcs()];
	if (found)
		return;

	memset(runs, 0, WscRunsSize());
	WscGenerationInit(&runs->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&runs->skipped, 0);
	for (int i = 0; i < WSC_MAX_EVENTS; i++)
		pg_atomic_init_u32(&runs->rows[i].changes, 0);
}

/* False: the tick is from before a reset.  Runs that go on begin anew. */
static bool
adopt_reset(const WscTick *tick)
{
	uint64		wanted;

	if (!WscGenerationStale(&runs->generation, &wanted))
		return true;
	for (int i = 0; i < WSC_MAX_EVENTS; i++)
	{
		RunRow	   *row = &runs->rows[i];

		if (row->totals.runs == 0)
			continue;
		WscBeginChange(&row->changes);
		memset(&row->totals, 0, sizeof(row->totals));
		WscEndChange(&row->changes);
	}
	for (int i = 0; i < runs->num_open; i++)
		runs->by_slot[open_slots[i]].pid = 0;
	runs->num_open = 0;
	return WscGenerationAdopt(&runs->generation, wanted, tick->sampled_at);
}

static void
end_run(Run *run)
{
	RunRow	   *row = &runs->rows[run->event];
	WscRunTotals *totals = &row->totals;

	WscBeginChange(&row->changes);
	totals->runs++;
	totals->time_ns += run->length_ns;
	totals->max_ns = Max(totals->max_ns, run->length_ns);
	totals->histogram[WscLengthClass(run->length_ns)]++;
	WscEndChange(&row->changes);
	run->pid = 0;
}

/* A sample begins a run, or lengthens one. */
static void
add_sample(const WscTick *tick, const WscSample *sample)
{
	Run		   *run = &runs->by_slot[sample->slot];

	if (run->pid != sample->pid || run->event != sample->event)
	{
		if (run->pid != 0)
			end_run(run);
		else
			open_slots[runs->num_open++] = sample->slot;
		run->pid = sample->pid;
		run->event = sample->event;
		run->length_ns = 0;
	}
	run->length_ns += tick->weight_ns;
	run->tick = runs->tick;
}

void
WscRunsAdd(const WscTick *tick, const WscSample *samples, int n)
{
	int			i;

	if (!adopt_reset(tick))
		return;
	runs->tick++;
	for (i = 0; i < n; i++)
		if (WscIsCounted(&samples[i]) && samples[i].event != WSC_EVENT_CPU)
			add_sample(tick, &samples[i]);

	i = 0;
	while (i < runs->num_open)
	{
		Run		   *run = &runs->by_slot[open_slots[i]];

		if (run->tick == runs->tick)
			i++;
		else
		{
			end_run(run);
			open_slots[i] = open_slots[--runs->num_open];
		}
	}
}

bool
WscRunsRead(WscEventId event, WscRunTotals *totals)
{
	RunRow	   *row = &runs->rows[event];
	int			tries = 0;

	do
	{
		uint32		before;

		if (!WscGenerationValid(&runs->generation))
			return false;
		if (!WscBeginRead(&row->changes, &before))
			continue;
		*totals = row->totals;
		if (!WscEndRead(&row->changes, before))
			continue;
		return totals->runs > 0 && WscGenerationValid(&runs->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&runs->skipped, 1);
	return false;
}

void
WscRunsReset(TimestampTz now)
{
	WscGenerationReset(&runs->generation, now);
}

void
WscRunsInfo(WscStoreInfo *info)
{
	WscRunTotals totals;

	info->entries = 0;
	for (int i = 0; i < WSC_MAX_EVENTS; i++)
	{
		if (WscRunsRead((WscEventId) i, &totals))
			info->entries++;
	}
	info->max_entries = WSC_MAX_EVENTS;
	info->span_ns = -1;
	info->evictions = -1;
	info->overwritten = (int64) pg_atomic_read_u64(&runs->skipped);
	info->stats_reset = WscGenerationTime(&runs->generation);
}
