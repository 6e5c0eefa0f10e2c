/*-------------------------------------------------------------------------
 *
 * main_locks.h
 *	  The server's main array of LWLocks and their wait lists, 13 to 19.
 *
 * The array holds the locks with a name of their own, the partitions of the
 * buffer mapping, of the lock manager and of the predicate lock manager, and
 * the tranches that libraries requested while they were preloaded.
 *
 * A wait list is read without a lock, while others change it.  What is read
 * may be no slot at all: check it with WscIsSlot() before it is followed.
 * The state of a lock is never read: its bits are private and have changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_MAIN_LOCKS_H
#define WSC_MAIN_LOCKS_H

#include "port/procarray.h"
#include "storage/lwlock.h"

/* The locks of one tranche; they lie side by side. */
typedef struct WscMainTranche
{
	int32		first;			/* position in the array */
	int32		count;			/* 0: it has no lock there */
} WscMainTranche;

typedef struct WscMainLocks
{
	WscMainTranche *tranches;	/* by tranche id */
	int			num_tranches;	/* 0: nothing is known, see problem */
	char		problem[96];	/* "": none */
} WscMainLocks;

/*
 * Looks whether the array is laid out as expected.  Allocates in the current
 * memory context.
 */
extern void WscMainLocksAttach(WscMainLocks *locks);

/* Is the lock the only one that waits of this tranche can be for? */
static inline bool
WscIsIndividualLock(int tranche)
{
	return tranche < NUM_INDIVIDUAL_LWLOCKS;
}

static inline bool
WscIsSlot(int slot)
{
	return slot >= 0 && slot < WscNumSlots();
}

/* First in the queue of a lock. */
static inline int
WscFirstInQueue(int lock)
{
	return *(volatile int *) &MainLWLockArray[lock].lock.waiters.head;
}

/* Next behind a process in the queue that it is in. */
static inline int
WscNextInQueue(int slot)
{
	return *(volatile int *) &WscSlot(slot)->lwWaitLink.next;
}

#endif							/* WSC_MAIN_LOCKS_H */
