/*-------------------------------------------------------------------------
 *
 * lockwaits.c
 *	  Heavyweight lock waits per lock type, database, relation and mode, and
 *	  per who was in the way.
 *
 * A new row takes the place of the one that was not seen for longest, whose
 * totals go to the last row, "other"; so the sums over all rows are true at
 * any time.  Rows are searched one by one, but first where a row with such a
 * hash value was found before: many waiters mostly wait for the same.
 *
 * The sampler is the only writer and takes no lock; a row is guarded by its
 * change counter (see store.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/lockwaits.h"

#define OTHER_ROW WSC_LOCK_WAIT_ROWS
#define NUM_HINTS 256

/* Written by the sampler. */
typedef struct LockWaitRow
{
	pg_atomic_uint32 changes;	/* odd while totals or tick change */
	uint64		tick;			/* last tick that added here */
	WscLockWaitTotals totals;
} LockWaitRow;

typedef struct WscLockWaits
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: rows they could not get */
	pg_atomic_uint64 evictions;
	pg_atomic_uint64 tick;		/* number of the last tick added */
	int32		num_rows;		/* in use, "other" apart; writer's own */
	int16		hints[NUM_HINTS];	/* rows; writer's own */
	LockWaitRow rows[WSC_LOCK_WAIT_ROWS + 1];
} WscLockWaits;

static WscLockWaits *tables[WSC_NUM_LOCK_WAIT_TABLES];

Size
WscLockWaitsSize(void)
{
	return MAXALIGN(sizeof(WscLockWaits));
}

void
WscLockWaitsAttach(WscLockWaitTable which, void *mem, bool found)
{
	WscLockWaits *table = mem;

	tables[which] = table;
	if (found)
		return;

	memset(table, 0, sizeof(*table));
	WscGenerationInit(&table->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&table->skipped, 0);
	pg_atomic_init_u64(&table->evictions, 0);
	pg_atomic_init_u64(&table->tick, 0);
	for (int i = 0; i <= OTHER_ROW; i++)
		pg_atomic_init_u32(&table->rows[i].changes, 0);
}

static void
clear_row(LockWaitRow *row)
{
	WscBeginChange(&row->changes);
	memset(&row->totals, 0, sizeof(row->totals));
	row->tick = 0;
	WscEndChange(&row->changes);
}

/* False: the tick is from before a reset. */
static bool
adopt_reset(WscLockWaits *table, const WscTick *tick)
{
	uint64		wanted;

	if (!WscGenerationStale(&table->generation, &wanted))
		return true;
	for (int i = 0; i <= OTHER_ROW; i++)
		if (table->rows[i].totals.last_seen != 0)
			clear_row(&table->rows[i]);
	table->num_rows = 0;
	pg_atomic_write_u64(&table->evictions, 0);
	return WscGenerationAdopt(&table->generation, wanted,
							  tick->sampled_at);
}

/* Those of a row that makes room. */
static void
add_to_other(WscLockWaits *table, const WscLockWaitTotals *from)
{
	LockWaitRow *row = &table->rows[OTHER_ROW];
	WscLockWaitTotals *to = &row->totals;

	WscBeginChange(&row->changes);
	to->samples += from->samples;
	to->time_ns += from->time_ns;
	to->max_waiting = Max(to->max_waiting, from->max_waiting);
	to->last_seen = Max(to->last_seen, from->last_seen);
	to->waits += from->waits;
	to->given_up += from->given_up;
	to->wait_ns += from->wait_ns;
	to->max_wait_ns = Max(to->max_wait_ns, from->max_wait_ns);
	for (int i = 0; i < WSC_LENGTH_CLASSES; i++)
		to->histogram[i] += from->histogram[i];
	WscEndChange(&row->changes);
}

static bool
has_key(const LockWaitRow *row, const WscHeavyKey *key)
{
	return memcmp(&row->totals.key, key, sizeof(*key)) == 0;
}

/* A row for a new key. */
static int
make_row(WscLockWaits *table, const WscHeavyKey *key)
{
	int			oldest = 0;
	WscLockWaitTotals totals;

	if (table->num_rows < WSC_LOCK_WAIT_ROWS)
		oldest = table->num_rows++;
	else
	{
		for (int i = 1; i < WSC_LOCK_WAIT_ROWS; i++)
			if (table->rows[i].totals.last_seen <
				table->rows[oldest].totals.last_seen)
				oldest = i;
		totals = table->rows[oldest].totals;
		clear_row(&table->rows[oldest]);
		add_to_other(table, &totals);
		pg_atomic_write_u64(&table->evictions,
							pg_atomic_read_u64(&table->evictions) + 1);
	}
	/* Not yet in use: readers look at last_seen. */
	table->rows[oldest].totals.key = *key;
	return oldest;
}

static LockWaitRow *
find_row(WscLockWaits *table, const WscHeavyKey *key)
{
	uint32		hash = key->relid * 31 + key->datid * 17;
	int16	   *hint;
	int			i;

	hash += key->locktype * 7U + key->mode + key->blocker_mode * 3U;
	hint = &table->hints[hash % NUM_HINTS];
	if (*hint < table->num_rows && has_key(&table->rows[*hint], key))
		return &table->rows[*hint];
	for (i = 0; i < table->num_rows; i++)
		if (has_key(&table->rows[i], key))
			break;
	if (i == table->num_rows)
		i = make_row(table, key);
	*hint = (int16) i;
	return &table->rows[i];
}

static void
add_waiter(WscLockWaits *table, const WscTick *tick, uint64 number,
		   const WscSample *sample)
{
	LockWaitRow *row = find_row(table, WscHeavyKeyOf(sample));
	WscLockWaitTotals *totals = &row->totals;

	WscBeginChange(&row->changes);
	if (row->tick != number)
	{
		row->tick = number;
		totals->waiting = 0;
	}
	totals->waiting++;
	totals->max_waiting = Max(totals->max_waiting, totals->waiting);
	totals->samples++;
	totals->time_ns += tick->weight_ns;
	totals->last_seen = tick->sampled_at;
	WscEndChange(&row->changes);
}

static void
add_ended(WscLockWaits *table, const WscTick *tick, const WscHeavyKey *key,
		  const WscHeavyWait *wait)
{
	LockWaitRow *row = find_row(table, key);
	WscLockWaitTotals *totals = &row->totals;

	WscBeginChange(&row->changes);
	totals->waits++;
	if (wait->outcome == WSC_OUTCOME_GIVEN_UP)
		totals->given_up++;
	totals->wait_ns += wait->length_ns;
	totals->max_wait_ns = Max(totals->max_wait_ns, wait->length_ns);
	totals->histogram[WscLengthClass(wait->length_ns)]++;
	totals->last_seen = tick->sampled_at;
	WscEndChange(&row->changes);
}

static void
add_by_lock(const WscTick *tick, const WscSample *samples, int n,
			const WscHeavyWait *ended, int num_ended)
{
	WscLockWaits *table = tables[WSC_LOCK_WAITS];
	uint64		number = pg_atomic_read_u64(&table->tick) + 1;

	if (!adopt_reset(table, tick))
		return;
	for (int i = 0; i < num_ended; i++)
		add_ended(table, tick, &ended[i].key, &ended[i]);
	for (int i = 0; i < n; i++)
		if (samples[i].locktype != WSC_LOCKTYPE_NONE)
			add_waiter(table, tick, number, &samples[i]);
	pg_atomic_write_u64(&table->tick, number);
}

static void
add_by_blocker(const WscTick *tick, const WscHeavyWait *ended, int num_ended)
{
	WscLockWaits *table = tables[WSC_LOCK_BLOCKERS];

	if (!adopt_reset(table, tick))
		return;
	for (int i = 0; i < num_ended; i++)
	{
		const WscHeavyBlocker *blocker = &ended[i].blocker;
		WscHeavyKey key = ended[i].key;

		if (blocker->known)
		{
			key.blocker_mode = blocker->mode;
			key.blocker_type = blocker->backend_type;
			key.blocker_queued = blocker->queued;
		}
		add_ended(table, tick, &key, &ended[i]);
	}
}

void
WscLockWaitsAdd(const WscTick *tick, const WscSample *samples, int n,
				const WscHeavyWait *ended, int num_ended)
{
	add_by_lock(tick, samples, n, ended, num_ended);
	add_by_blocker(tick, ended, num_ended);
}

bool
WscLockWaitsRead(WscLockWaitTable which, int row_number,
				 WscLockWaitTotals *totals)
{
	WscLockWaits *table = tables[which];
	LockWaitRow *row = &table->rows[row_number];
	int			tries = 0;

	do
	{
		uint32		before;
		uint64		tick;

		if (!WscGenerationValid(&table->generation))
			return false;
		if (!WscBeginRead(&row->changes, &before))
			continue;
		*totals = row->totals;
		tick = row->tick;
		if (!WscEndRead(&row->changes, before))
			continue;
		if (tick < pg_atomic_read_u64(&table->tick))
			totals->waiting = 0;
		return totals->last_seen != 0 &&
			WscGenerationValid(&table->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&table->skipped, 1);
	return false;
}

void
WscLockWaitsReset(WscLockWaitTable which, TimestampTz now)
{
	WscGenerationReset(&tables[which]->generation, now);
}

void
WscLockWaitsInfo(WscLockWaitTable which, WscStoreInfo *info)
{
	WscLockWaits *table = tables[which];
	WscLockWaitTotals totals;

	info->entries = 0;
	for (int i = 0; i < WSC_LOCK_WAIT_ROWS; i++)
	{
		if (WscLockWaitsRead(which, i, &totals))
			info->entries++;
	}
	info->max_entries = WSC_LOCK_WAIT_ROWS;
	info->span_ns = -1;
	info->evictions = 0;
	if (WscGenerationValid(&table->generation))
		info->evictions = (int64) pg_atomic_read_u64(&table->evictions);
	info->overwritten = (int64) pg_atomic_read_u64(&table->skipped);
	info->stats_reset = WscGenerationTime(&table->generation);
}
