/*-------------------------------------------------------------------------
 *
 * instances.c
 *	  Waits per single LWLock of the server's main array.
 *
 * One row per lock, and one per tranche of several locks for the waiters
 * whose lock is not known; so the rows of a tranche add up to what the store
 * lwlocks has of it.  The table never evicts.  The sampler is the only writer
 * and takes no lock; a row is guarded by its change counter (see store.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/instances.h"

/* Written by the sampler. */
typedef struct InstanceRow
{
	pg_atomic_uint32 changes;	/* odd while totals change */
	WscInstanceTotals totals;	/* guarded by changes */
	uint64		tick;			/* last tick that added here; writer's own */
	int64		waiters;		/* waiters in that tick; writer's own */
} InstanceRow;

typedef struct WscInstances
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: rows they could not get */
	uint64		tick;			/* ticks added; writer's own */
	InstanceRow rows[WSC_LOCK_ROWS];
} WscInstances;

static WscInstances *instances;

Size
WscInstancesSize(void)
{
	return MAXALIGN(sizeof(WscInstances));
}

void
WscInstancesAttach(void *mem, bool found)
{
	instances = mem;
	if (found)
		return;

	memset(instances, 0, sizeof(*instances));
	WscGenerationInit(&instances->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&instances->skipped, 0);
	for (int i = 0; i < WSC_LOCK_ROWS; i++)
		pg_atomic_init_u32(&instances->rows[i].changes, 0);
}

/* False: the tick is from before a reset. */
static bool
adopt_reset(const WscTick *tick)
{
	uint64		wanted;

	if (!WscGenerationStale(&instances->generation, &wanted))
		return true;
	for (int i = 0; i < WSC_LOCK_ROWS; i++)
	{
		InstanceRow *row = &instances->rows[i];

		if (row->totals.samples == 0)
			continue;
		WscBeginChange(&row->changes);
		memset(&row->totals, 0, sizeof(row->totals));
		WscEndChange(&row->changes);
	}
	return WscGenerationAdopt(&instances->generation, wanted,
							  tick->sampled_at);
}

static void
add_waiter(InstanceRow *row, const WscTick *tick, const WscSample *sample,
		   int lock_index)
{
	WscInstanceTotals *totals = &row->totals;

	if (row->tick != instances->tick)
	{
		row->tick = instances->tick;
		row->waiters = 0;
	}
	row->waiters++;

	WscBeginChange(&row->changes);
	totals->event = sample->event;
	totals->lock_index = lock_index;
	totals->samples++;
	if (sample->lwlock_mode == WSC_LWLOCK_SHARED)
		totals->shared_samples++;
	else if (sample->lwlock_mode == WSC_LWLOCK_EXCLUSIVE)
		totals->exclusive_samples++;
	totals->max_waiters = Max(totals->max_waiters, row->waiters);
	totals->time_ns += tick->weight_ns;
	totals->last_seen = tick->sampled_at;
	WscEndChange(&row->changes);
}

void
WscInstancesAdd(const WscTick *tick, const WscSample *samples,
				const WscLockWait *waits, int n)
{
	if (!adopt_reset(tick))
		return;
	instances->tick++;
	for (int i = 0; i < n; i++)
	{
		if (waits[i].row != WSC_NO_LOCK_ROW && WscIsCounted(&samples[i]))
			add_waiter(&instances->rows[waits[i].row], tick, &samples[i],
					   waits[i].lock_index);
	}
}

bool
WscInstancesRead(int row, WscInstanceTotals *totals)
{
	InstanceRow *from = &instances->rows[row];
	int			tries = 0;

	do
	{
		uint32		before;

		if (!WscGenerationValid(&instances->generation))
			return false;
		if (!WscBeginRead(&from->changes, &before))
			continue;
		*totals = from->totals;
		if (!WscEndRead(&from->changes, before))
			continue;
		return totals->samples > 0 &&
			WscGenerationValid(&instances->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&instances->skipped, 1);
	return false;
}

void
WscInstancesReset(TimestampTz now)
{
	WscGenerationReset(&instances->generation, now);
}

void
WscInstancesInfo(WscStoreInfo *info)
{
	WscInstanceTotals totals;

	info->entries = 0;
	for (int i = 0; i < WSC_LOCK_ROWS; i++)
	{
		if (WscInstancesRead(i, &totals))
			info->entries++;
	}
	info->max_entries = WSC_LOCK_ROWS;
	info->span_ns = -1;
	info->evictions = -1;
	info->overwritten = (int64) pg_atomic_read_u64(&instances->skipped);
	info->stats_reset = WscGenerationTime(&instances->generation);
}
