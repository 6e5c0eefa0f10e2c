/*-------------------------------------------------------------------------
 *
 * lock_paths.h
 *	  Circles of waiting processes, and how many wait for each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_PATHS_H
#define WSC_LOCK_PATHS_H

#include "sample/lock_graph.h"

/* Sets in_cycle of groups and nodes. */
extern void WscLockFindCycles(const WscLockGraph *graph);

/* Sets blocked_count of the nodes. */
extern void WscLockCountBlocked(const WscLockGraph *graph);

#endif							/* WSC_LOCK_PATHS_H */
