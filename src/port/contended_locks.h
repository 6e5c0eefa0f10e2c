/*-------------------------------------------------------------------------
 *
 * contended_locks.h
 *	  A consistent copy of the heavyweight locks that somebody waits for.
 *
 * Of each such lock all holders and waiters, and the order of its queue; of
 * each holder, and of the other members of its lock group, also the lock it
 * waits for itself, and so on: who waits for whom is complete for every
 * process in the copy.  A wait that begins while the copy is made may be
 * left out as a whole.  Locks taken by the fast path need not be looked at:
 * whoever wants one in a conflicting mode moves it to the main table first.
 *
 * The lock manager's partitions are locked, shared, for as long as it takes
 * to copy that; pg_locks holds them for a copy of the whole table, and
 * pg_blocking_pids() for that of one lock, once for each process asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_CONTENDED_LOCKS_H
#define WSC_CONTENDED_LOCKS_H

#include "datatype/timestamp.h"
#include "storage/lock.h"

#include "port/compat.h"

/* What a process, or a prepared transaction, has to do with such a lock. */
typedef struct WscLockEntry
{
	int			lock;			/* index in locks */
	int			slot;			/* below num_slots */
	int			leader_slot;	/* of its lock group; without one: its own */
	int			pid;			/* 0: prepared transaction */
	int			leader_pid;
	TransactionId prepared_xid; /* of a prepared transaction */
	LOCKMASK	held;
	LOCKMODE	wanted;			/* NoLock: does not wait for it */
	int			waiter;			/* index in waiters, if it waits */
	TimestampTz wait_start;		/* 0: does not wait, or not known */
} WscLockEntry;

typedef struct WscContendedLock
{
	LOCKTAG		tag;
	const LOCKMASK *conflicts;	/* per mode: with which it conflicts */
	int			first_entry;
	int			num_entries;
	int			first_waiter;	/* in the order of the queue */
	int			num_waiters;
} WscContendedLock;

typedef struct WscLockTable
{
	TimestampTz read_at;
	int			num_slots;		/* those of prepared transactions included */
	int			num_locks;
	int			num_entries;
	int			num_waiters;
	WscContendedLock *locks;
	WscLockEntry *entries;
	int		   *waiters;		/* indexes in entries */
} WscLockTable;

/* Allocates in the current memory context. */
extern void WscLockTableRead(WscLockTable *table);

#endif							/* WSC_CONTENDED_LOCKS_H */
