/*-------------------------------------------------------------------------
 *
 * runs.h
 *	  How long waits are, estimated from samples in a row.
 *
 * A run is a process seen in the same wait event in one tick after another;
 * its length is the time that these ticks stand for.  It is an estimate: a wait
 * seen once counts as one period, however short it is, and waits for the same
 * event that follow each other within a period make one run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_RUNS_H
#define WSC_RUNS_H

#include "store/store.h"

/* Of runs that have ended. */
typedef struct WscRunTotals
{
	int64		runs;
	int64		time_ns;
	int64		max_ns;
	int64		histogram[WSC_LENGTH_CLASSES];
} WscRunTotals;

extern Size WscRunsSize(void);
extern void WscRunsAttach(void *mem, bool found);

/* Sampler only, never waits: all samples of a tick. */
extern void WscRunsAdd(const WscTick *tick, const WscSample *samples, int n);

/* One row, consistent in itself; false if no run of that event has ended. */
extern bool WscRunsRead(WscEventId event, WscRunTotals *totals);

extern void WscRunsReset(TimestampTz now);
extern void WscRunsInfo(WscStoreInfo *info);

#endif							/* WSC_RUNS_H */
