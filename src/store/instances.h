/*-------------------------------------------------------------------------
 *
 * instances.h
 *	  Waits per single LWLock of the server's main array.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_INSTANCES_H
#define WSC_INSTANCES_H

#include "sample/lock_walk.h"
#include "store/store.h"

typedef struct WscInstanceTotals
{
	WscEventId	event;			/* its tranche */
	int32		lock_index;		/* WSC_LOCK_UNKNOWN: any lock of it */
	int64		samples;
	int64		shared_samples;
	int64		exclusive_samples;
	int64		max_waiters;	/* most in one tick */
	int64		time_ns;
	TimestampTz last_seen;
} WscInstanceTotals;

extern Size WscInstancesSize(void);
extern void WscInstancesAttach(void *mem, bool found);

/* Sampler only, never waits.  One wait per sample. */
extern void WscInstancesAdd(const WscTick *tick, const WscSample *samples,
							const WscLockWait *waits, int n);

/* Row 0 .. WSC_LOCK_ROWS - 1, consistent in itself; false: never counted. */
extern bool WscInstancesRead(int row, WscInstanceTotals *totals);

extern void WscInstancesReset(TimestampTz now);
extern void WscInstancesInfo(WscStoreInfo *info);

#endif							/* WSC_INSTANCES_H */
