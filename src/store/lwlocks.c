/*-------------------------------------------------------------------------
 *
 * lwlocks.c
 *	  LWLock waits per tranche: mode split and queue.
 *
 * One row per event id; only rows of class LWLock are ever used, and since 19
 * those of the locks of buffers' content, which have their own events, one for
 * each mode.  The table never evicts.  The sampler is the only writer and takes
 * no lock; a row is guarded by its change counter (see store.h).
 *
 * The queue of a tranche is the number of its waiters in one tick.  While a
 * tick is being added, the row keeps the number of that tick and the waiters
 * met so far, so that no second table and no second pass is needed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/lwlocks.h"
#include "port/wait_events.h"

/* Written by the sampler. */
typedef struct LWLockRow
{
	pg_atomic_uint32 changes;	/* odd while totals change */
	WscLWLockTotals totals;		/* guarded by changes */
	uint64		tick;			/* last tick that added here; writer's own */
	int64		waiters;		/* waiters in that tick; writer's own */
} LWLockRow;

typedef struct WscLWLocks
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: rows they could not get */
	uint64		tick;			/* ticks added; writer's own */
	LWLockRow	rows[WSC_MAX_EVENTS];
} WscLWLocks;

static WscLWLocks *lwlocks;

Size
WscLWLocksSize(void)
{
	return MAXALIGN(sizeof(WscLWLocks));
}

void
WscLWLocksAttach(void *mem, bool found)
{
	int			i;

	lwlocks = mem;
	if (found)
		return;

	memset(lwlocks, 0, sizeof(*lwlocks));
	WscGenerationInit(&lwlocks->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&lwlocks->skipped, 0);
	for (i = 0; i < WSC_MAX_EVENTS; i++)
		pg_atomic_init_u32(&lwlocks->rows[i].changes, 0);
}

/* False: the tick is from before a reset. */
static bool
adopt_reset(const WscTick *tick)
{
	uint64		wanted;
	int			i;

	if (!WscGenerationStale(&lwlocks->generation, &wanted))
		return true;
	for (i = 0; i < WSC_MAX_EVENTS; i++)
	{
		LWLockRow  *row = &lwlocks->rows[i];

		if (row->totals.samples == 0)
			continue;
		WscBeginChange(&row->changes);
		memset(&row->totals, 0, sizeof(row->totals));
		WscEndChange(&row->changes);
	}
	return WscGenerationAdopt(&lwlocks->generation, wanted, tick->sampled_at);
}

static void
add_waiter(LWLockRow *row, uint8 mode, int64 weight_ns)
{
	WscLWLockTotals *totals = &row->totals;

	WscBeginChange(&row->changes);
	if (row->tick != lwlocks->tick)
	{
		row->tick = lwlocks->tick;
		row->waiters = 0;
		totals->waiting_ticks++;
	}
	row->waiters++;
	totals->waiter_sum++;
	totals->max_waiters = Max(totals->max_waiters, row->waiters);

	totals->samples++;
	totals->time_ns += weight_ns;
	if (mode == WSC_LWLOCK_SHARED)
		totals->shared_samples++;
	else if (mode == WSC_LWLOCK_EXCLUSIVE)
		totals->exclusive_samples++;
	else if (mode == WSC_LWLOCK_UNTIL_FREE)
		totals->until_free_samples++;
	WscEndChange(&row->changes);
}

static bool
is_lwlock_wait(uint32 event)
{
	return WSC_WAIT_CLASS(event) == PG_WAIT_LWLOCK ||
		WscWaitForBufferLock(event) != WSC_NO_BUFFER_LOCK;
}

void
WscLWLocksAdd(const WscTick *tick, const WscSample *samples, int n)
{
	int			i;

	if (!adopt_reset(tick))
		return;
	lwlocks->tick++;
	for (i = 0; i < n; i++)
	{
		const WscSample *sample = &samples[i];

		if (WscIsCounted(sample) && is_lwlock_wait(sample->wait_event_info))
			add_waiter(&lwlocks->rows[sample->event], sample->lwlock_mode,
					   tick->weight_ns);
	}
}

bool
WscLWLocksRead(WscEventId event, WscLWLockTotals *totals)
{
	int			tries = 0;

	if (event >= WSC_MAX_EVENTS)
		return false;
	do
	{
		LWLockRow  *row = &lwlocks->rows[event];
		uint32		before;

		if (!WscGenerationValid(&lwlocks->generation))
			return false;
		if (!WscBeginRead(&row->changes, &before))
			continue;
		*totals = row->totals;
		if (!WscEndRead(&row->changes, before))
			continue;
		return totals->samples > 0 &&
			WscGenerationValid(&lwlocks->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&lwlocks->skipped, 1);
	return false;
}

void
WscLWLocksReset(TimestampTz now)
{
	WscGenerationReset(&lwlocks->generation, now);
}

void
WscLWLocksInfo(WscStoreInfo *info)
{
	WscLWLockTotals totals;
	int			i;

	info->entries = 0;
	for (i = 0; i < WSC_MAX_EVENTS; i++)
	{
		if (WscLWLocksRead((WscEventId) i, &totals))
			info->entries++;
	}
	info->max_entries = WSC_MAX_EVENTS;
	info->span_ns = -1;
	info->evictions = -1;
	info->overwritten = (int64) pg_atomic_read_u64(&lwlocks->skipped);
	info->stats_reset = WscGenerationTime(&lwlocks->generation);
}
