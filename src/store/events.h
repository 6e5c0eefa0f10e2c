/*-------------------------------------------------------------------------
 *
 * events.h
 *	  Exact totals per wait event, and what they were at moments of the last
 *	  quarter of an hour.
 *
 * The totals never evict.  Foreground load and background work are counted
 * apart; idle processes are not counted here at all.
 *
 * Windows: the foreground totals are copied aside every 250 ms for 16 s and
 * every 5 s for 15 minutes.  The value at a moment between two copies is
 * interpolated.  Only a fixed part of the memory is ever walked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_EVENTS_H
#define WSC_EVENTS_H

#include "sample/sample.h"
#include "store/store.h"

typedef struct WscEventTotals
{
	int64		samples;
	int64		time_ns;		/* sum of weights */
	int64		background_samples;
	int64		background_time_ns;
} WscEventTotals;

extern Size WscEventsSize(void);
extern void WscEventsAttach(void *mem, bool found);

/* Sampler only, never waits.  Also takes the copies that are due. */
extern void WscEventsAdd(const WscTick *tick, const WscSample *samples, int n);

/* One row, consistent in itself; false if there is none (never seen). */
extern bool WscEventsRead(WscEventId event, WscEventTotals *totals);

/*
 * Foreground time per event (array of WSC_MAX_EVENTS) within the last
 * window_ns before now_ns (CLOCK_MONOTONIC), and the time covered in it.
 * False if less than half of the window is covered.
 */
extern bool WscEventsWindow(int64 now_ns, int64 window_ns, int64 *time_ns,
							int64 *covered_ns);

extern void WscEventsReset(TimestampTz now);

/* When the totals were last set to 0; changes as soon as they are. */
extern TimestampTz WscEventsResetTime(void);
extern void WscEventsInfo(WscStoreInfo *info);

#endif							/* WSC_EVENTS_H */
