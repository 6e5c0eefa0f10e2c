/*-------------------------------------------------------------------------
 *
 * fmlock_wait.h
 *	  The queue of a lock: waiting and waking.
 *
 * For fmlock.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FMLOCK_WAIT_H
#define FMLOCK_WAIT_H

#include "lock/fmlock.h"
#include "lock/lockstat.h"

/* Queue entries, one for each process. */
extern Size FmLockWaitShmemSize(int nprocs);
extern void FmLockWaitShmemAttach(void *mem, int nprocs, bool found);

/*
 * Returns with the lock, and says how it came to it.  Interrupts are held
 * off; the process must have a PGPROC.
 */
extern void FmLockWait(FmLock *lock, FmLockMode mode, LockStatMiss *miss);

/* After a release that left FMLOCK_WAKE and no holder in the word. */
extern void FmLockWake(FmLock *lock);

#endif							/* FMLOCK_WAIT_H */
