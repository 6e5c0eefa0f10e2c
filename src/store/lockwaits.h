/*-------------------------------------------------------------------------
 *
 * lockwaits.h
 *	  Heavyweight lock waits per lock type, database, relation and mode, and
 *	  per who was in the way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCKWAITS_H
#define WSC_LOCKWAITS_H

#include "sample/heavy_waits.h"
#include "store/store.h"

#define WSC_LOCK_WAIT_ROWS 512

typedef struct WscLockWaitTotals
{
	WscHeavyKey key;
	int64		samples;
	int64		time_ns;		/* of the samples */
	int64		waiting;		/* in the last tick */
	int64		max_waiting;	/* in any tick */
	TimestampTz last_seen;		/* 0: the row is not in use */

	/* Of waits that have ended. */
	int64		waits;
	int64		given_up;
	int64		wait_ns;
	int64		max_wait_ns;
	int64		histogram[WSC_LENGTH_CLASSES];
} WscLockWaitTotals;

/* Two tables of one form, apart from each other. */
typedef enum WscLockWaitTable
{
	WSC_LOCK_WAITS,				/* keys without blockers */
	WSC_LOCK_BLOCKERS			/* with them; only waits that have ended */
} WscLockWaitTable;

#define WSC_NUM_LOCK_WAIT_TABLES 2

extern Size WscLockWaitsSize(void);
extern void WscLockWaitsAttach(WscLockWaitTable which, void *mem, bool found);

/* Sampler only, never waits: all samples of a tick, and what has ended. */
extern void WscLockWaitsAdd(const WscTick *tick, const WscSample *samples,
							int n, const WscHeavyWait *ended, int num_ended);

/*
 * Row of 0 .. WSC_LOCK_WAIT_ROWS, consistent in itself; false if it is not in
 * use.  The last one has no key: totals of all that has no row.
 */
extern bool WscLockWaitsRead(WscLockWaitTable which, int row,
							 WscLockWaitTotals *totals);

extern void WscLockWaitsReset(WscLockWaitTable which, TimestampTz now);
extern void WscLockWaitsInfo(WscLockWaitTable which, WscStoreInfo *info);

#endif							/* WSC_LOCKWAITS_H */
