/*-------------------------------------------------------------------------
 *
 * hotblocks.h
 *	  Waits for buffer content per relation and block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_HOTBLOCKS_H
#define WSC_HOTBLOCKS_H

#include "port/buffers.h"
#include "store/store.h"

#define WSC_HOT_RELATIONS 256	/* forks of relations, to be exact */
#define WSC_HOT_BLOCKS 8		/* of each */

typedef struct WscHotTotals
{
	int64		samples;
	int64		shared_samples;
	int64		exclusive_samples;
	int64		time_ns;
	TimestampTz last_seen;		/* 0: never */
} WscHotTotals;

typedef struct WscHotBlock
{
	uint32		relblocknumber;
	WscHotTotals totals;
} WscHotBlock;

/* A fork of a relation; its totals hold those of its blocks, and more. */
typedef struct WscHotRelation
{
	WscBlock	key;			/* the block's number means nothing here */
	WscHotTotals totals;
	TimestampTz dropped_last_seen;	/* of blocks that lost their place */
	int32		num_blocks;
	WscHotBlock blocks[WSC_HOT_BLOCKS];
} WscHotRelation;

extern Size WscHotBlocksSize(void);
extern void WscHotBlocksAttach(void *mem, bool found);

/*
 * Keeper only, never waits.  Each waiter stands for time_ns; rest_ns is time
 * waited for blocks that were not found.
 */
extern void WscHotBlocksAdd(TimestampTz seen_at, const WscBlockWait *waits,
							int n, int64 time_ns, int64 rest_ns);

/*
 * Row of 0 .. WSC_HOT_RELATIONS, consistent in itself; false if it is not in
 * use.  The last one is no relation: totals of all that has no row.
 */
extern bool WscHotBlocksRead(int row, WscHotRelation *relation);

extern void WscHotBlocksReset(TimestampTz now);
extern void WscHotBlocksInfo(WscStoreInfo *info);

#endif							/* WSC_HOTBLOCKS_H */
