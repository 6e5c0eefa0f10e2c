/*-------------------------------------------------------------------------
 *
 * lockwaits.c
 *	  Heavyweight lock waits per lock type, database, relation and mode.
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

#include "port/pg_bitutils.h"
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

static WscLockWaits *lock_waits;

Size
WscLockWaitsSize(void)
{
	return MAXALIGN(sizeof(WscLockWaits));
}

void
WscLockWaitsAttach(void *mem, bool found)
{
	lock_waits = mem;
	if (found)
		return;

	memset(lock_waits, 0, sizeof(*lock_waits));
	WscGenerationInit(&lock_waits->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&lock_waits->skipped, 0);
	pg_atomic_init_u64(&lock_waits->evictions, 0);
	pg_atomic_init_u64(&lock_waits->tick, 0);
	for (int i = 0; i <= OTHER_ROW; i++)
		pg_atomic_init_u32(&lock_waits->rows[i].changes, 0);
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
adopt_reset(const WscTick *tick)
{
	uint64		wanted;

	if (!WscGenerationStale(&lock_waits->generation, &wanted))
		return true;
	for (int i = 0; i <= OTHER_ROW; i++)
		if (lock_waits->rows[i].totals.last_seen != 0)
			clear_row(&lock_waits->rows[i]);
	lock_waits->num_rows = 0;
	pg_atomic_write_u64(&lock_waits->evictions, 0);
	return WscGenerationAdopt(&lock_waits->generation, wanted,
							  tick->sampled_at);
}

/* Those of a row that makes room. */
static void
add_to_other(const WscLockWaitTotals *from)
{
	LockWaitRow *row = &lock_waits->rows[OTHER_ROW];
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
	for (int i = 0; i < WSC_LOCK_WAIT_CLASSES; i++)
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
make_row(const WscHeavyKey *key)
{
	int			oldest = 0;
	WscLockWaitTotals totals;

	if (lock_waits->num_rows < WSC_LOCK_WAIT_ROWS)
		oldest = lock_waits->num_rows++;
	else
	{
		for (int i = 1; i < WSC_LOCK_WAIT_ROWS; i++)
			if (lock_waits->rows[i].totals.last_seen <
				lock_waits->rows[oldest].totals.last_seen)
				oldest = i;
		totals = lock_waits->rows[oldest].totals;
		clear_row(&lock_waits->rows[oldest]);
		add_to_other(&totals);
		pg_atomic_write_u64(&lock_waits->evictions,
							pg_atomic_read_u64(&lock_waits->evictions) + 1);
	}
	/* Not yet in use: readers look at last_seen. */
	lock_waits->rows[oldest].totals.key = *key;
	return oldest;
}

static LockWaitRow *
find_row(const WscHeavyKey *key)
{
	uint32		hash = key->relid * 31 + key->datid * 17 + key->locktype * 7 +
		key->mode;
	int16	   *hint = &lock_waits->hints[hash % NUM_HINTS];
	int			i;

	if (*hint < lock_waits->num_rows && has_key(&lock_waits->rows[*hint], key))
		return &lock_waits->rows[*hint];
	for (i = 0; i < lock_waits->num_rows; i++)
		if (has_key(&lock_waits->rows[i], key))
			break;
	if (i == lock_waits->num_rows)
		i = make_row(key);
	*hint = (int16) i;
	return &lock_waits->rows[i];
}

static void
add_waiter(const WscTick *tick, uint64 number, const WscSample *sample)
{
	WscHeavyKey key;
	LockWaitRow *row;
	WscLockWaitTotals *totals;

	WscHeavyKeyOf(sample, &key);
	row = find_row(&key);
	totals = &row->totals;
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

static int
find_class(int64 length_ns)
{
	uint64		length_ms = (uint64) (length_ns / 1000000);

	if (length_ms == 0)
		return 0;
	return Min(pg_leftmost_one_pos64(length_ms) + 1,
			   WSC_LOCK_WAIT_CLASSES - 1);
}

static void
add_ended(const WscTick *tick, const WscHeavyWait *wait)
{
	LockWaitRow *row = find_row(&wait->key);
	WscLockWaitTotals *totals = &row->totals;

	WscBeginChange(&row->changes);
	totals->waits++;
	if (wait->outcome == WSC_OUTCOME_GIVEN_UP)
		totals->given_up++;
	totals->wait_ns += wait->length_ns;
	totals->max_wait_ns = Max(totals->max_wait_ns, wait->length_ns);
	totals->histogram[find_class(wait->length_ns)]++;
	if (totals->last_seen == 0)
		totals->last_seen = tick->sampled_at;
	WscEndChange(&row->changes);
}

void
WscLockWaitsAdd(const WscTick *tick, const WscSample *samples, int n,
				const WscHeavyWait *ended, int num_ended)
{
	uint64		number = pg_atomic_read_u64(&lock_waits->tick) + 1;

	if (!adopt_reset(tick))
		return;
	for (int i = 0; i < num_ended; i++)
		add_ended(tick, &ended[i]);
	for (int i = 0; i < n; i++)
		if (samples[i].locktype != WSC_LOCKTYPE_NONE)
			add_waiter(tick, number, &samples[i]);
	pg_atomic_write_u64(&lock_waits->tick, number);
}

bool
WscLockWaitsRead(int row_number, WscLockWaitTotals *totals)
{
	LockWaitRow *row = &lock_waits->rows[row_number];
	int			tries = 0;

	do
	{
		uint32		before;
		uint64		tick;

		if (!WscGenerationValid(&lock_waits->generation))
			return false;
		if (!WscBeginRead(&row->changes, &before))
			continue;
		*totals = row->totals;
		tick = row->tick;
		if (!WscEndRead(&row->changes, before))
			continue;
		if (tick < pg_atomic_read_u64(&lock_waits->tick))
			totals->waiting = 0;
		return totals->last_seen != 0 &&
			WscGenerationValid(&lock_waits->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&lock_waits->skipped, 1);
	return false;
}

void
WscLockWaitsReset(TimestampTz now)
{
	WscGenerationReset(&lock_waits->generation, now);
}

void
WscLockWaitsInfo(WscStoreInfo *info)
{
	WscLockWaitTotals totals;

	info->entries = 0;
	for (int i = 0; i < WSC_LOCK_WAIT_ROWS; i++)
	{
		if (WscLockWaitsRead(i, &totals))
			info->entries++;
	}
	info->max_entries = WSC_LOCK_WAIT_ROWS;
	info->span_ns = -1;
	info->evictions = 0;
	if (WscGenerationValid(&lock_waits->generation))
		info->evictions = (int64) pg_atomic_read_u64(&lock_waits->evictions);
	info->overwritten = (int64) pg_atomic_read_u64(&lock_waits->skipped);
	info->stats_reset = WscGenerationTime(&lock_waits->generation);
}
