/*-------------------------------------------------------------------------
 *
 * lockhistory.c
 *	  The last heavyweight lock waits that have ended.
 *
 * A ring of entries; wait number i is in entry i modulo the size, until it is
 * overwritten.  The sampler is the only writer and takes no lock; an entry is
 * guarded by its change counter (see store.h) and knows its number.  A reset
 * only moves the number that readers begin with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/lockhistory.h"

/* Written by the sampler. */
typedef struct HistoryEntry
{
	pg_atomic_uint32 changes;	/* odd while the rest changes */
	uint64		number;
	WscHeavyWait wait;
} HistoryEntry;

typedef struct WscLockHistory
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: entries they could not get */
	pg_atomic_uint64 first;		/* the first one since the last reset */
	pg_atomic_uint64 next;		/* the next one to come */
	HistoryEntry entries[WSC_LOCK_HISTORY_SIZE];
} WscLockHistory;

static WscLockHistory *history;

Size
WscLockHistorySize(void)
{
	return MAXALIGN(sizeof(WscLockHistory));
}

void
WscLockHistoryAttach(void *mem, bool found)
{
	history = mem;
	if (found)
		return;

	memset(history, 0, sizeof(*history));
	WscGenerationInit(&history->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&history->skipped, 0);
	pg_atomic_init_u64(&history->first, 0);
	pg_atomic_init_u64(&history->next, 0);
	for (int i = 0; i < WSC_LOCK_HISTORY_SIZE; i++)
		pg_atomic_init_u32(&history->entries[i].changes, 0);
}

/* False: the tick is from before a reset. */
static bool
adopt_reset(const WscTick *tick)
{
	uint64		wanted;

	if (!WscGenerationStale(&history->generation, &wanted))
		return true;
	pg_atomic_write_u64(&history->first,
						pg_atomic_read_u64(&history->next));
	return WscGenerationAdopt(&history->generation, wanted,
							  tick->sampled_at);
}

void
WscLockHistoryAdd(const WscTick *tick, const WscHeavyWait *ended,
				  int num_ended)
{
	uint64		next = pg_atomic_read_u64(&history->next);

	if (!adopt_reset(tick))
		return;
	for (int i = 0; i < num_ended; i++)
	{
		HistoryEntry *entry = &history->entries[next % WSC_LOCK_HISTORY_SIZE];

		WscBeginChange(&entry->changes);
		entry->number = next++;
		entry->wait = ended[i];
		WscEndChange(&entry->changes);
	}
	pg_write_barrier();			/* entries before they can be asked for */
	pg_atomic_write_u64(&history->next, next);
}

void
WscLockHistoryRange(uint64 *first, uint64 *next)
{
	*first = pg_atomic_read_u64(&history->first);
	pg_read_barrier();			/* in this order, first is never behind next */
	*next = pg_atomic_read_u64(&history->next);
	if (*next - *first > WSC_LOCK_HISTORY_SIZE)
		*first = *next - WSC_LOCK_HISTORY_SIZE;
	if (!WscGenerationValid(&history->generation))
		*first = *next;
}

bool
WscLockHistoryRead(uint64 number, WscHeavyWait *wait)
{
	HistoryEntry *entry = &history->entries[number % WSC_LOCK_HISTORY_SIZE];
	int			tries = 0;

	do
	{
		uint32		before;
		uint64		found;

		if (!WscGenerationValid(&history->generation))
			return false;
		if (!WscBeginRead(&entry->changes, &before))
			continue;
		found = entry->number;
		*wait = entry->wait;
		if (!WscEndRead(&entry->changes, before))
			continue;
		return found == number && WscGenerationValid(&history->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&history->skipped, 1);
	return false;
}

void
WscLockHistoryReset(TimestampTz now)
{
	WscGenerationReset(&history->generation, now);
}

void
WscLockHistoryInfo(WscStoreInfo *info)
{
	uint64		first;
	uint64		next;
	WscHeavyWait oldest;
	WscHeavyWait newest;

	WscLockHistoryRange(&first, &next);
	info->entries = (int64) (next - first);
	info->max_entries = WSC_LOCK_HISTORY_SIZE;
	info->span_ns = 0;
	if (next > first && WscLockHistoryRead(first, &oldest) &&
		WscLockHistoryRead(next - 1, &newest))
		info->span_ns = newest.seen_ns - oldest.seen_ns;
	info->evictions = -1;
	info->overwritten = (int64) pg_atomic_read_u64(&history->skipped);
	info->stats_reset = WscGenerationTime(&history->generation);
}
