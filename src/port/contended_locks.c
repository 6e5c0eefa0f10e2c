/*-------------------------------------------------------------------------
 *
 * contended_locks.c
 *	  A consistent copy of the heavyweight locks that somebody waits for.
 *
 * 1. Without a lock, note which processes wait.
 * 2. Lock all partitions of the lock manager, in order, shared.  Now no
 *	  process can get, give back or queue for a lock of the main table, and
 *	  no lock group can change.
 * 3. Copy the lock of each process noted, unless a process before it waits
 *	  for the same, and note the members of its entries' lock groups that
 *	  wait: their locks are copied in turn.
 * 4. Unlock.  What did not fit is copied again into more memory: nothing is
 *	  allocated while the partitions are locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "lib/ilist.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "port/contended_locks.h"
#include "port/procarray.h"

/* 16 took the server's older kind of lists away. */
#if PG_VERSION_NUM >= 160000
typedef dlist_node ListLink;
#define ENTRIES_END(lock) (&(lock)->procLocks.head)
#define WAITERS_END(lock) (&(lock)->waitProcs.dlist.head)
#else
typedef SHM_QUEUE ListLink;
#define ENTRIES_END(lock) (&(lock)->procLocks)
#define WAITERS_END(lock) (&(lock)->waitProcs.links)
#endif

/* 19 gave the queue a link of its own. */
#if PG_VERSION_NUM >= 190000
#define WAIT_LINK waitLink
#else
#define WAIT_LINK links
#endif

#define CONTAINER(type, member, link) \
	((type *) ((char *) (link) - offsetof(type, member)))

typedef struct Reading
{
	WscLockTable *table;
	int			max_entries;
	bool		is_full;		/* no room for all entries: copy again */
	int		   *noted;			/* slots that wait; each at most once */
	int			num_noted;
	bool	   *is_noted;		/* per slot */
	bool	   *is_copied;		/* per slot: the lock it waits for */
	int		   *entry_of_slot;	/* of the lock copied last */
} Reading;

static int
get_slot(const PGPROC *proc)
{
	return (int) (proc - ProcGlobal->allProcs);
}

static TransactionId
get_prepared_xid(const PGPROC *proc)
{
	if (proc->pid != 0)
		return InvalidTransactionId;
#if PG_VERSION_NUM >= 140000
	return proc->xid;
#else
	return ProcGlobal->allPgXact[proc->pgprocno].xid;
#endif
}

static void
note_if_waiting(Reading *reading, PGPROC *proc)
{
	int			slot = get_slot(proc);

	if (((volatile PGPROC *) proc)->waitLock == NULL ||
		reading->is_noted[slot])
		return;
	reading->is_noted[slot] = true;
	reading->noted[reading->num_noted++] = slot;
}

static void
note_group(Reading *reading, PGPROC *leader)
{
	dlist_iter	iter;

	if (leader->lockGroupLeader == NULL)
	{
		note_if_waiting(reading, leader);
		return;
	}
	/* cppcheck-suppress unknownMacro */
	dlist_foreach(iter, &leader->lockGroupMembers)
		note_if_waiting(reading,
						dlist_container(PGPROC, lockGroupLink, iter.cur));
}

static void
copy_entry(Reading *reading, const PROCLOCK *proclock, WscLockEntry *entry)
{
	PGPROC	   *proc = proclock->tag.myProc;
	bool		waits = proc->waitLock == proclock->tag.myLock;

	entry->lock = reading->table->num_locks;
	entry->slot = get_slot(proc);
	entry->leader_slot = get_slot(proclock->groupLeader);
	entry->pid = proc->pid;
	entry->leader_pid = proclock->groupLeader->pid;
	entry->prepared_xid = get_prepared_xid(proc);
	entry->held = proclock->holdMask;
	entry->wanted = waits ? proc->waitLockMode : NoLock;
	entry->waiter = -1;
	entry->wait_start = waits ? WscSlotWaitStart(proc) : 0;
}

static void
copy_queue(Reading *reading, const LOCK *lock)
{
	WscLockTable *table = reading->table;

	for (ListLink *link = WAITERS_END(lock)->next;
		 link != WAITERS_END(lock); link = link->next)
	{
		int			slot = get_slot(CONTAINER(PGPROC, WAIT_LINK, link));
		int			entry = reading->entry_of_slot[slot];

		table->entries[entry].waiter = table->num_waiters;
		table->waiters[table->num_waiters++] = entry;
		reading->is_copied[slot] = true;
	}
}

static void
copy_lock(Reading *reading, const LOCK *lock)
{
	WscLockTable *table = reading->table;
	WscContendedLock *copy = &table->locks[table->num_locks];
	int			num_entries = 0;

	for (ListLink *link = ENTRIES_END(lock)->next;
		 link != ENTRIES_END(lock); link = link->next)
		num_entries++;
	if (num_entries > reading->max_entries - table->num_entries)
	{
		reading->is_full = true;
		return;
	}

	copy->tag = lock->tag;
	copy->first_entry = table->num_entries;
	copy->num_entries = num_entries;
	copy->first_waiter = table->num_waiters;
	for (ListLink *link = ENTRIES_END(lock)->next;
		 link != ENTRIES_END(lock); link = link->next)
	{
		const PROCLOCK *proclock = CONTAINER(PROCLOCK, lockLink, link);
		WscLockEntry *entry = &table->entries[table->num_entries];

		copy_entry(reading, proclock, entry);
		reading->entry_of_slot[entry->slot] = table->num_entries++;
		note_group(reading, proclock->groupLeader);
	}
	copy_queue(reading, lock);
	copy->num_waiters = table->num_waiters - copy->first_waiter;
	table->num_locks++;
}

static void
copy_locks(Reading *reading)
{
	for (int i = 0; i < NUM_LOCK_PARTITIONS; i++)	/* 2 */
		LWLockAcquire(LockHashPartitionLockByIndex(i), LW_SHARED);

	for (int i = 0; i < reading->num_noted && !reading->is_full; i++)	/* 3 */
	{
		const PGPROC *proc = &ProcGlobal->allProcs[reading->noted[i]];

		if (proc->waitLock != NULL && !reading->is_copied[reading->noted[i]])
			copy_lock(reading, proc->waitLock);
	}

	/* The last first: whoever waits for all of them can then go on. */
	for (int i = NUM_LOCK_PARTITIONS; --i >= 0;)	/* 4 */
		LWLockRelease(LockHashPartitionLockByIndex(i));
}

/* One try; false if there was no room for everything. */
static bool
read_table(Reading *reading)
{
	WscLockTable *table = reading->table;
	Size		num_slots = (Size) table->num_slots;

	table->num_locks = 0;
	table->num_entries = 0;
	table->num_waiters = 0;
	reading->is_full = false;
	reading->num_noted = 0;
	memset(reading->is_noted, 0, num_slots * sizeof(bool));
	memset(reading->is_copied, 0, num_slots * sizeof(bool));

	for (int slot = 0; slot < WscNumSlots(); slot++)	/* 1 */
		note_if_waiting(reading, WscSlot(slot));
	if (reading->num_noted > 0)
		copy_locks(reading);
	return !reading->is_full;
}

void
WscLockTableRead(WscLockTable *table)
{
	Reading		reading = {.table = table};
	Size		num_slots;

	table->num_slots = WscNumSlots() + max_prepared_xacts;
	num_slots = (Size) table->num_slots;
	reading.noted = palloc(num_slots * sizeof(int));
	reading.is_noted = palloc(num_slots * sizeof(bool));
	reading.is_copied = palloc(num_slots * sizeof(bool));
	reading.entry_of_slot = palloc(num_slots * sizeof(int));
	table->locks = palloc(num_slots * sizeof(WscContendedLock));
	table->waiters = palloc(num_slots * sizeof(int));

	/* Seldom more: most processes wait for a lock that others wait for. */
	reading.max_entries = 2 * table->num_slots;
	for (;;)
	{
		Size		max_entries = (Size) reading.max_entries;

		table->entries = palloc(max_entries * sizeof(WscLockEntry));
		if (read_table(&reading))
			break;
		pfree(table->entries);
		reading.max_entries *= 2;
	}
	table->read_at = GetCurrentTimestamp();

	for (int i = 0; i < table->num_locks; i++)
	{
		WscContendedLock *lock = &table->locks[i];

		lock->conflicts = GetLockTagsMethodTable(&lock->tag)->conflictTab;
	}
	pfree(reading.noted);
	pfree(reading.is_noted);
	pfree(reading.is_copied);
	pfree(reading.entry_of_slot);
}
