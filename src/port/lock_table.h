/*-------------------------------------------------------------------------
 *
 * lock_table.h
 *	  Who keeps a process from its heavyweight lock, read without a lock.
 *
 * Entries of the server's lock table are never given back to other uses, so a
 * pointer to one can be followed at any time; what it points to may by then
 * belong to another lock, which is checked.  No list is followed for more
 * than a number of steps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_TABLE_H
#define WSC_LOCK_TABLE_H

#include "port/procarray.h"
#include "storage/lock.h"

typedef struct WscBlocker
{
	int			slot;			/* of the process, or a worker's leader */
	int			pid;			/* 0: it is a prepared transaction */
	LOCKMODE	mode;			/* strongest one in the way: held, or wanted */
	bool		queued;			/* does not hold it, is ahead in the queue */
	TimestampTz start;			/* of the wait, as WscSlotWaitStart() has it */
} WscBlocker;

typedef enum WscBlockerFound
{
	WSC_BLOCKER_NONE,			/* the process waits for no lock */
	WSC_BLOCKER_FOUND,
	WSC_BLOCKER_UNKNOWN			/* it waits, or has just waited: who is in the
								 * way was not to be seen */
} WscBlockerFound;

/*
 * One that keeps the process in that slot from the lock it waits for: one that
 * holds it, if any, else one that is ahead in the queue.  Sets blocker if one
 * was found.
 */
extern WscBlockerFound WscFindBlocker(int slot, WscBlocker *blocker);

#endif							/* WSC_LOCK_TABLE_H */
