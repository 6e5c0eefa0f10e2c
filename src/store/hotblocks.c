/*-------------------------------------------------------------------------
 *
 * hotblocks.c
 *	  Waits for buffer content per relation and block.
 *
 * One row per fork of a relation, with its totals and those of a few blocks:
 * the blocks with most samples, found by letting a new block take the place of
 * the least one.  What is lost with that one's figures is still in the totals
 * of the relation, which so are true also where the block waited for moves on,
 * as at the right edge of an index.  In the same way a new relation takes the
 * row of the least one, whose totals go to the last row, "other".  So the sums
 * over all rows are true at any time, however small the table.
 *
 * The keeper is the only writer and takes no lock; a row is guarded by its
 * change counter (see store.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/hotblocks.h"

#define OTHER_ROW WSC_HOT_RELATIONS

/* Written by the keeper. */
typedef struct HotRow
{
	pg_atomic_uint32 changes;	/* odd while relation changes */
	WscHotRelation relation;	/* guarded by changes */
} HotRow;

typedef struct WscHotBlocks
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: rows they could not get */
	pg_atomic_uint64 evictions; /* relations */
	int32		num_rows;		/* in use, "other" apart; writer's own */
	HotRow		rows[WSC_HOT_RELATIONS + 1];
} WscHotBlocks;

static WscHotBlocks *hot;

Size
WscHotBlocksSize(void)
{
	return MAXALIGN(sizeof(WscHotBlocks));
}

void
WscHotBlocksAttach(void *mem, bool found)
{
	hot = mem;
	if (found)
		return;

	memset(hot, 0, sizeof(*hot));
	WscGenerationInit(&hot->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&hot->skipped, 0);
	pg_atomic_init_u64(&hot->evictions, 0);
	for (int i = 0; i <= OTHER_ROW; i++)
		pg_atomic_init_u32(&hot->rows[i].changes, 0);
}

static void
clear_row(HotRow *row)
{
	WscBeginChange(&row->changes);
	memset(&row->relation, 0, sizeof(row->relation));
	WscEndChange(&row->changes);
}

/* False: what is to be added was seen before a reset. */
static bool
adopt_reset(TimestampTz seen_at)
{
	uint64		wanted;

	if (!WscGenerationStale(&hot->generation, &wanted))
		return true;
	for (int i = 0; i <= OTHER_ROW; i++)
		clear_row(&hot->rows[i]);
	hot->num_rows = 0;
	pg_atomic_write_u64(&hot->evictions, 0);
	return WscGenerationAdopt(&hot->generation, wanted, seen_at);
}

static void
add_totals(WscHotTotals *to, const WscHotTotals *from)
{
	to->samples += from->samples;
	to->shared_samples += from->shared_samples;
	to->exclusive_samples += from->exclusive_samples;
	to->time_ns += from->time_ns;
	to->last_seen = Max(to->last_seen, from->last_seen);
}

static void
add_to_other(const WscHotTotals *totals)
{
	HotRow	   *row = &hot->rows[OTHER_ROW];

	WscBeginChange(&row->changes);
	add_totals(&row->relation.totals, totals);
	WscEndChange(&row->changes);
}

static bool
is_same_relation(const WscBlock *a, const WscBlock *b)
{
	return a->relfilenode == b->relfilenode &&
		a->relforknumber == b->relforknumber &&
		a->datid == b->datid &&
		a->reltablespace == b->reltablespace;
}

/* The row for the relation of that block. */
static HotRow *
find_row(const WscBlock *block)
{
	HotRow	   *least = &hot->rows[0];
	WscHotTotals totals;

	for (int i = 0; i < hot->num_rows; i++)
	{
		HotRow	   *row = &hot->rows[i];

		if (is_same_relation(&row->relation.key, block))
			return row;
		if (row->relation.totals.samples < least->relation.totals.samples)
			least = row;
	}
	if (hot->num_rows < WSC_HOT_RELATIONS)
		return &hot->rows[hot->num_rows++];

	totals = least->relation.totals;
	clear_row(least);
	add_to_other(&totals);
	pg_atomic_write_u64(&hot->evictions,
						pg_atomic_read_u64(&hot->evictions) + 1);
	return least;
}

/* The place for a block in its relation's row, which is being changed. */
static WscHotBlock *
find_block(WscHotRelation *relation, uint32 relblocknumber)
{
	WscHotBlock *least = &relation->blocks[0];

	for (int i = 0; i < relation->num_blocks; i++)
	{
		WscHotBlock *block = &relation->blocks[i];

		if (block->relblocknumber == relblocknumber)
			return block;
		if (block->totals.samples < least->totals.samples)
			least = block;
	}
	if (relation->num_blocks < WSC_HOT_BLOCKS)
		least = &relation->blocks[relation->num_blocks++];
	else
		relation->dropped_last_seen = Max(relation->dropped_last_seen,
										  least->totals.last_seen);
	memset(least, 0, sizeof(*least));
	least->relblocknumber = relblocknumber;
	return least;
}

void
WscHotBlocksAdd(TimestampTz seen_at, const WscBlockWait *waits, int n,
				int64 time_ns, int64 rest_ns)
{
	WscHotTotals totals;

	if (!adopt_reset(seen_at))
		return;
	memset(&totals, 0, sizeof(totals));
	totals.last_seen = seen_at;
	for (int i = 0; i < n; i++)
	{
		const WscBlockWait *wait = &waits[i];
		HotRow	   *row = find_row(&wait->block);
		WscHotRelation *relation = &row->relation;

		totals.samples = wait->waiters;
		totals.shared_samples = wait->shared;
		totals.exclusive_samples = wait->exclusive;
		totals.time_ns = wait->waiters * time_ns;

		WscBeginChange(&row->changes);
		relation->key = wait->block;
		add_totals(&relation->totals, &totals);
		add_totals(&find_block(relation, wait->block.relblocknumber)->totals,
				   &totals);
		WscEndChange(&row->changes);
	}
	if (rest_ns > 0)
	{
		memset(&totals, 0, sizeof(totals));
		totals.time_ns = rest_ns;
		totals.last_seen = seen_at;
		add_to_other(&totals);
	}
}

bool
WscHotBlocksRead(int row_number, WscHotRelation *relation)
{
	HotRow	   *row = &hot->rows[row_number];
	int			tries = 0;

	do
	{
		uint32		before;

		if (!WscGenerationValid(&hot->generation))
			return false;
		if (!WscBeginRead(&row->changes, &before))
			continue;
		*relation = row->relation;
		if (!WscEndRead(&row->changes, before))
			continue;
		return relation->totals.last_seen != 0 &&
			WscGenerationValid(&hot->generation);
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&hot->skipped, 1);
	return false;
}

void
WscHotBlocksReset(TimestampTz now)
{
	WscGenerationReset(&hot->generation, now);
}

void
WscHotBlocksInfo(WscStoreInfo *info)
{
	WscHotRelation relation;

	info->entries = 0;
	for (int i = 0; i < WSC_HOT_RELATIONS; i++)
	{
		if (WscHotBlocksRead(i, &relation))
			info->entries++;
	}
	info->max_entries = WSC_HOT_RELATIONS;
	info->span_ns = -1;
	info->evictions = 0;
	if (WscGenerationValid(&hot->generation))
		info->evictions = (int64) pg_atomic_read_u64(&hot->evictions);
	info->overwritten = (int64) pg_atomic_read_u64(&hot->skipped);
	info->stats_reset = WscGenerationTime(&hot->generation);
}
