/*-------------------------------------------------------------------------
 *
 * ring.h
 *	  The last N samples, with the tick each belongs to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_RING_H
#define WSC_RING_H

#include "sample/sample.h"
#include "store/store.h"

/* Slots of one record each; a tick takes one more than it has samples. */
extern Size WscRingSize(int64 slots);
extern void WscRingAttach(void *mem, int64 slots, bool found);

/*
 * Sampler only, never waits.  Stores all samples of the tick, with the
 * tick's weight; the caller chooses the ticks to be stored.
 */
extern void WscRingAdd(const WscTick *tick, const WscSample *samples, int n);

/*
 * Any process: walk from the oldest record kept at WscRingOpen() to the
 * newest of that moment.  Next returns false at the end.  The reader owns a
 * private buffer; nothing in shared memory knows of it, so it may stop for
 * good at any point.  Records overwritten before they were copied are
 * skipped and counted.
 */
typedef struct WscRingReader WscRingReader;

extern WscRingReader *WscRingOpen(void);	/* allocates */
extern bool WscRingNext(WscRingReader *reader, WscSample *sample,
						TimestampTz *sampled_at, int64 *weight_ns);

/*
 * Right after WscRingOpen(): skips samples taken before a moment, not all of
 * them, but without reading most of the ring.
 */
extern void WscRingSkipTo(WscRingReader *reader, TimestampTz since);

extern void WscRingReset(TimestampTz now);
extern void WscRingInfo(WscStoreInfo *info);

#endif							/* WSC_RING_H */
