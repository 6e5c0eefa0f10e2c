/*-------------------------------------------------------------------------
 *
 * lock_table.c
 *	  Who keeps a process from its heavyweight lock, read without a lock.
 *
 *	1. Read what the process waits for, and since when.
 *	2. Follow the list of the lock's holders; a holder counts if its entry
 *	   still is one of this lock after its modes were read.
 *	3. If none is in the way, follow the queue until the process itself.
 *	   A list that was left before its end tells nothing: what was not seen
 *	   of it may be in the way.
 *	4. Look whether the process still waits as in 1.  It has waited all the
 *	   time then, and so the lock's entry has been this lock's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"

#include "port/lock_table.h"

/* More holders or waiters than this are not looked at. */
#define MAX_STEPS 1000

/* 16 made the lists of another kind, with the same two links. */
#if PG_VERSION_NUM >= 160000
#define FIRST_IN_QUEUE(lock) read_link(&(lock)->waitProcs.dlist.head.next)
#define FIRST_HOLDER(lock) read_link(&(lock)->procLocks.head.next)
#define HOLDERS_END(lock) ((void *) &(lock)->procLocks.head)
#define QUEUE_END(lock) ((void *) &(lock)->waitProcs.dlist.head)
#else
#define FIRST_IN_QUEUE(lock) read_link(&(lock)->waitProcs.links.next)
#define FIRST_HOLDER(lock) read_link(&(lock)->procLocks.next)
#define HOLDERS_END(lock) ((void *) &(lock)->procLocks)
#define QUEUE_END(lock) ((void *) &(lock)->waitProcs.links)
#endif

/* 19 gave the queue a link of its own. */
#if PG_VERSION_NUM >= 190000
#define QUEUE_LINK waitLink
#else
#define QUEUE_LINK links
#endif

/* What step 1 reads. */
typedef struct LockWait
{
	LOCK	   *lock;
	LOCKMODE	mode;
	TimestampTz start;
	LOCKMASK	conflicts;		/* modes that are in the way */
	PGPROC	   *leader;			/* of the lock group, or the process itself */
} LockWait;

static void *
read_link(const void *link)
{
	return *(void *const volatile *) link;
}

static PGPROC *
get_leader(PGPROC *proc)
{
	PGPROC	   *leader = ((volatile PGPROC *) proc)->lockGroupLeader;

	return leader != NULL ? leader : proc;
}

static bool
read_wait(PGPROC *proc, LockWait *wait)
{
	volatile PGPROC *vproc = proc;
	LockMethod	method;
	LOCKTAG		tag;

	wait->lock = vproc->waitLock;
	wait->mode = vproc->waitLockMode;
	wait->start = WscSlotWaitStart(proc);
	wait->leader = get_leader(proc);
	if (wait->lock == NULL)
		return false;
	pg_read_barrier();			/* the pointer before what it points to */
	tag = wait->lock->tag;
	if (tag.locktag_lockmethodid != DEFAULT_LOCKMETHOD &&
		tag.locktag_lockmethodid != USER_LOCKMETHOD)
		return false;
	method = GetLockTagsMethodTable(&tag);
	if (wait->mode <= NoLock || wait->mode > method->numLockModes)
		return false;
	wait->conflicts = method->conflictTab[wait->mode];
	return true;
}

static bool
still_waits(PGPROC *proc, const LockWait *wait)
{
	volatile PGPROC *vproc = proc;

	pg_read_barrier();			/* all that before the second look */
	return vproc->waitLock == wait->lock &&
		vproc->waitLockMode == wait->mode &&
		WscSlotWaitStart(proc) == wait->start;
}

/*
 * Place in the process array, where prepared transactions follow the
 * processes; -1: the pointer is none.
 */
static int
find_place(const PGPROC *proc)
{
	uintptr_t	first = (uintptr_t) ProcGlobal->allProcs;
	uintptr_t	distance = (uintptr_t) proc - first;
	Size		num_places = (Size) WscNumSlots() + (Size) max_prepared_xacts;

	if ((uintptr_t) proc < first || distance % sizeof(PGPROC) != 0 ||
		distance / sizeof(PGPROC) >= num_places)
		return -1;
	return (int) (distance / sizeof(PGPROC));
}

/* False: there is no such process. */
static bool
name_blocker(PGPROC *proc, LOCKMODE mode, bool queued, WscBlocker *blocker)
{
	blocker->slot = find_place(proc);
	blocker->mode = mode;
	blocker->queued = queued;
	blocker->pid = 0;
	if (blocker->slot >= WscNumSlots())
		return true;
	if (blocker->slot < 0)
		return false;
	blocker->pid = WscSlotPid(proc);
	return blocker->pid != 0;
}

static LOCKMODE
find_strongest_mode(LOCKMASK modes)
{
	LOCKMODE	mode = MAX_LOCKMODES - 1;

	while (mode > NoLock && (modes & LOCKBIT_ON(mode)) == 0)
		mode--;
	return mode;
}

/* Step 2.  WSC_BLOCKER_NONE: none of the holders is in the way. */
static WscBlockerFound
find_holder(const LockWait *wait, WscBlocker *blocker)
{
	LOCK	   *lock = wait->lock;
	char	   *link = FIRST_HOLDER(lock);

	for (int i = 0; i < MAX_STEPS; i++)
	{
		PROCLOCK   *holder;
		volatile PROCLOCK *vholder;
		PGPROC	   *leader;
		LOCKMASK	in_the_way;

		if (link == HOLDERS_END(lock))
			return WSC_BLOCKER_NONE;
		if (link == NULL)
			return WSC_BLOCKER_UNKNOWN;
		holder = (PROCLOCK *) (link - offsetof(PROCLOCK, lockLink));
		vholder = holder;
		pg_read_barrier();		/* the link before what it points to */
		leader = vholder->groupLeader;
		in_the_way = vholder->holdMask & wait->conflicts;
		link = read_link(&holder->lockLink.next);
		pg_read_barrier();		/* what belongs to it before its lock */
		if (vholder->tag.myLock != lock)
			return WSC_BLOCKER_UNKNOWN;
		if (in_the_way != 0 && leader != wait->leader &&
			name_blocker(leader, find_strongest_mode(in_the_way), false,
						 blocker))
			return WSC_BLOCKER_FOUND;
	}
	return WSC_BLOCKER_UNKNOWN;
}

/* Step 3. */
static WscBlockerFound
find_queued(const LockWait *wait, const PGPROC *proc, WscBlocker *blocker)
{
	LOCK	   *lock = wait->lock;
	char	   *link = FIRST_IN_QUEUE(lock);

	for (int i = 0; i < MAX_STEPS; i++)
	{
		PGPROC	   *ahead;
		LOCKMODE	mode;

		if (link == NULL || link == QUEUE_END(lock))
			return WSC_BLOCKER_UNKNOWN;
		ahead = (PGPROC *) (link - offsetof(PGPROC, QUEUE_LINK));
		if (ahead == proc || find_place(ahead) < 0)
			return WSC_BLOCKER_UNKNOWN;
		pg_read_barrier();		/* the link before what it points to */
		mode = *(volatile LOCKMODE *) &ahead->waitLockMode;
		link = read_link(&ahead->QUEUE_LINK.next);
		pg_read_barrier();		/* what belongs to the wait before its lock */
		if (((volatile PGPROC *) ahead)->waitLock != lock)
			return WSC_BLOCKER_UNKNOWN;
		if ((wait->conflicts & LOCKBIT_ON(mode)) != 0 &&
			get_leader(ahead) != wait->leader &&
			name_blocker(get_leader(ahead), mode, true, blocker))
			return WSC_BLOCKER_FOUND;
	}
	return WSC_BLOCKER_UNKNOWN;
}

WscBlockerFound
WscFindBlocker(int slot, WscBlocker *blocker)
{
	PGPROC	   *proc = WscSlot(slot);
	LockWait	wait;
	WscBlocker	found;
	WscBlockerFound result;

	if (!read_wait(proc, &wait))
		return WSC_BLOCKER_NONE;
	result = find_holder(&wait, &found);
	if (result == WSC_BLOCKER_NONE)
		result = find_queued(&wait, proc, &found);
	if (result != WSC_BLOCKER_FOUND || !still_waits(proc, &wait))
		return WSC_BLOCKER_UNKNOWN;
	found.start = wait.start;
	*blocker = found;
	return WSC_BLOCKER_FOUND;
}
