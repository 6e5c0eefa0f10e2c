/*-------------------------------------------------------------------------
 *
 * view_hotblocks.c
 *	  Function behind the view of hot blocks.
 *
 * No row holds what another one holds, so that sums over any of them are
 * true: the blocks of a relation, then what is in its totals and in none of
 * its blocks, without a block's number; last, without a relation, what is in
 * none.  Each relation is consistent with its blocks, the set is not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "store/hotblocks.h"
#include "view.h"

WSC_SQL_FUNCTION(pg_waitscope_get_hot_blocks);

static void
put_relation(WscRows *rows, const WscBlock *key)
{
	WscPutOidOrNull(rows, key->datid);
	WscPut(rows, ObjectIdGetDatum(key->reltablespace));
	WscPut(rows, ObjectIdGetDatum(key->relfilenode));
	WscPut(rows, Int16GetDatum((int16) key->relforknumber));
}

static void
put_totals(WscRows *rows, const WscHotTotals *totals)
{
	WscPutInt64(rows, totals->samples);
	WscPutInt64(rows, totals->shared_samples);
	WscPutInt64(rows, totals->exclusive_samples);
	WscPutTime(rows, totals->time_ns);
	WscPutMoment(rows, totals->last_seen);
	WscRowsEnd(rows);
}

/* The blocks, and what is left of the totals. */
static void
put_blocks(WscRows *rows, const WscHotRelation *relation)
{
	WscHotTotals rest = relation->totals;

	rest.last_seen = relation->dropped_last_seen;
	for (int i = 0; i < relation->num_blocks; i++)
	{
		const WscHotBlock *block = &relation->blocks[i];

		put_relation(rows, &relation->key);
		WscPutInt64(rows, block->relblocknumber);
		put_totals(rows, &block->totals);
		rest.samples -= block->totals.samples;
		rest.shared_samples -= block->totals.shared_samples;
		rest.exclusive_samples -= block->totals.exclusive_samples;
		rest.time_ns -= block->totals.time_ns;
	}
	if (rest.samples > 0)
	{
		put_relation(rows, &relation->key);
		WscPutNull(rows);		/* relblocknumber */
		put_totals(rows, &rest);
	}
}

Datum
pg_waitscope_get_hot_blocks(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscHotRelation relation;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	for (int i = 0; i < WSC_HOT_RELATIONS; i++)
		if (WscHotBlocksRead(i, &relation))
			put_blocks(&rows, &relation);
	if (WscHotBlocksRead(WSC_HOT_RELATIONS, &relation))
	{
		for (int i = 0; i < 5; i++)
			WscPutNull(&rows);	/* datid to relblocknumber */
		put_totals(&rows, &relation.totals);
	}
	return (Datum) 0;
}
