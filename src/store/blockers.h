/*-------------------------------------------------------------------------
 *
 * blockers.h
 *	  Who keeps those who wait for heavyweight locks waiting.
 *
 * What was found lies in shared memory, in one place per slot of the process
 * array.  The keeper is the only writer, and takes no lock of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_BLOCKERS_H
#define WSC_BLOCKERS_H

#include "sample/heavy_waits.h"

/* Younger waits mostly end before there is something to tell of them. */
#define WSC_BLOCKED_NS INT64CONST(5000000)

extern Size WscBlockersSize(void);
extern void WscBlockersAttach(void *mem, bool found);

typedef struct WscBlockerLooker WscBlockerLooker;

/* Allocates in the current memory context. */
extern WscBlockerLooker *WscBlockerLookerCreate(void);

/*
 * Keeper only: looks for the blockers of waits older than WSC_BLOCKED_NS.
 * Stops soon after limit_ns; the next look goes on from there.
 */
extern void WscBlockersLook(WscBlockerLooker *looker, int64 limit_ns);

/* Sampler only: of a wait that has ended, who was found mostly, if anybody. */
extern void WscBlockersGet(WscHeavyWait *wait);

#endif							/* WSC_BLOCKERS_H */
