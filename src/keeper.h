/*-------------------------------------------------------------------------
 *
 * keeper.h
 *	  Background worker for what takes too long for the sampler.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_KEEPER_H
#define WSC_KEEPER_H

#include "sample/sample.h"

/* What the keeper says about itself. */
typedef struct WscKeeperStatus
{
	int32		pid;			/* 0: none runs */
	int64		starts;			/* processes so far */
	int64		cpu_ns;			/* all processes so far */
	int64		alive_ns;		/* when it was awake last, CLOCK_MONOTONIC */
} WscKeeperStatus;

/* The keeper is awake at least that often. */
#define WSC_KEEPER_NAP_MS 1000

extern Size WscKeeperSize(void);
extern void WscKeeperAttach(void *mem, bool found);
extern void WscKeeperRead(WscKeeperStatus *status);
extern int	WscKeeperPid(void); /* 0: none runs */

/*
 * Sampler only, at each tick; never waits.  Tells the keeper of the processes
 * that wait for buffer content, if any.
 */
extern void WscKeeperTell(const WscTick *tick, const WscSample *samples,
						  int n);

/*
 * Sampler only, in a tick that finds a wait for a heavyweight lock that is
 * older than WSC_BLOCKED_NS; never waits.
 */
extern void WscKeeperTellBlocked(void);

extern void WscKeeperRegister(void);

#endif							/* WSC_KEEPER_H */
