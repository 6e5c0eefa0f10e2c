/*-------------------------------------------------------------------------
 *
 * lock_walk.h
 *	  Which lock of the main array each waiting process is queued for.
 *
 * A walker belongs to one process and lives in that process's memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_WALK_H
#define WSC_LOCK_WALK_H

#include "sample/sample.h"

/*
 * Rows for locks, given out once and for all: to each lock of the array, and
 * one to each tranche of several locks, for waiters whose lock is not known.
 */
#define WSC_LOCK_ROWS 1024

#define WSC_NO_LOCK_ROW (-1)
#define WSC_LOCK_UNKNOWN (-1)

/* What the walk says of one sample. */
typedef struct WscLockWait
{
	int16		row;			/* WSC_NO_LOCK_ROW: not such a wait */
	int16		lock_index;		/* position within its tranche, from 0; or
								 * WSC_LOCK_UNKNOWN */
} WscLockWait;

typedef struct WscLockWalker WscLockWalker;

/* Allocates in the current memory context. */
extern WscLockWalker *WscLockWalkerCreate(void);

/* Why nothing is known of any lock; "": it is. */
extern const char *WscLockWalkerProblem(const WscLockWalker *walker);

/*
 * To be called right after the scan that took the samples; fills in one wait
 * for each.  Allocates nothing, waits for nothing and raises nothing.
 */
extern void WscLockWalk(WscLockWalker *walker, const WscSample *samples,
						int n, WscLockWait *waits);

#endif							/* WSC_LOCK_WALK_H */
