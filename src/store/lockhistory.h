/*-------------------------------------------------------------------------
 *
 * lockhistory.h
 *	  The last heavyweight lock waits that have ended.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCKHISTORY_H
#define WSC_LOCKHISTORY_H

#include "sample/heavy_waits.h"
#include "store/store.h"

#define WSC_LOCK_HISTORY_SIZE 4096

extern Size WscLockHistorySize(void);
extern void WscLockHistoryAttach(void *mem, bool found);

/* Sampler only, never waits: what has ended since the tick before. */
extern void WscLockHistoryAdd(const WscTick *tick, const WscHeavyWait *ended,
							  int num_ended);

/*
 * Waits are numbered in the order in which they ended.  Sets first and next
 * to the range to ask for.
 */
extern void WscLockHistoryRange(uint64 *first, uint64 *next);

/* One of that range; false if it was overwritten meanwhile. */
extern bool WscLockHistoryRead(uint64 number, WscHeavyWait *wait);

extern void WscLockHistoryReset(TimestampTz now);
extern void WscLockHistoryInfo(WscStoreInfo *info);

#endif							/* WSC_LOCKHISTORY_H */
