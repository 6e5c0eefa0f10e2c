/*-------------------------------------------------------------------------
 *
 * lwlocks.h
 *	  LWLock waits per tranche: mode split and queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LWLOCKS_H
#define WSC_LWLOCKS_H

#include "sample/sample.h"
#include "store/store.h"

typedef struct WscLWLockTotals
{
	int64		samples;
	int64		time_ns;
	int64		shared_samples;
	int64		exclusive_samples;
	int64		until_free_samples;
	int64		waiting_ticks;	/* ticks with at least one waiter */
	int64		waiter_sum;		/* waiters summed over those ticks */
	int64		max_waiters;	/* most in one tick */
} WscLWLockTotals;

extern Size WscLWLocksSize(void);
extern void WscLWLocksAttach(void *mem, bool found);

/* Sampler only, never waits.  Foreground and background alike. */
extern void WscLWLocksAdd(const WscTick *tick, const WscSample *samples,
						  int n);

/* One row, consistent in itself; false if that event was never counted. */
extern bool WscLWLocksRead(WscEventId event, WscLWLockTotals *totals);

extern void WscLWLocksReset(TimestampTz now);
extern void WscLWLocksInfo(WscStoreInfo *info);

#endif							/* WSC_LWLOCKS_H */
