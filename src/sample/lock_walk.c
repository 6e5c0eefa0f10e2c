/*-------------------------------------------------------------------------
 *
 * lock_walk.c
 *	  Which lock of the main array each waiting process is queued for.
 *
 * A process tells which tranche it waits for, but not which lock of it.  That
 * is in the lock's wait list only, which we follow without a lock while
 * others change it.  Per tick:
 *
 *	1. Note the samples that wait for a tranche of the array.  Mostly there is
 *	   none, and that was all.  A lock with a tranche of its own is known now.
 *	2. For each other such tranche, lock by lock until all its waiters are
 *	   found: follow the list from its head, each link checked to be a slot.
 *	   One tick follows no more links than there are slots, so a list that
 *	   changes under our feet, even into a ring, holds us up no longer.
 *	3. Follow it again.  As far as it has stayed the same, and the event and
 *	   the pid of the process still are those of the sample, it waits for this
 *	   lock.  Where a link has changed we may have got into another list.
 *
 * Who has been woken and not yet been given a CPU is in no list any more, and
 * nothing tells which lock it waited for; it counts for its tranche.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sample/lock_walk.h"
#include "port/main_locks.h"
#include "port/wait_events.h"

typedef struct WalkedTranche
{
	int32		first;			/* of its locks in the array */
	int32		count;			/* 0: none that we have rows for */
	int16		unknown_row;
	int			waiters;		/* in this tick, not yet found */
} WalkedTranche;

struct WscLockWalker
{
	WalkedTranche *tranches;	/* by id */
	int			num_tranches;
	char		problem[sizeof(((WscMainLocks *) 0)->problem)];

	/* of one tick */
	int		   *sample_of_slot; /* plus 1; 0: not noted */
	int		   *noted;			/* samples */
	int			num_noted;
	int			links_left;		/* to be followed at most */
	int		   *queue;			/* slots found in step 2 */
};

/* Tranches beyond the rows that we have are left out. */
static void
give_rows(WscLockWalker *walker, const WscMainLocks *locks)
{
	int			num_shared = 0;
	int			row = WSC_LOCK_ROWS;

	for (int i = 0; i < locks->num_tranches; i++)
		if (!WscIsIndividualLock(i) && locks->tranches[i].count > 0)
			num_shared++;
	for (int i = 0; i < locks->num_tranches; i++)
	{
		const WscMainTranche *from = &locks->tranches[i];
		WalkedTranche *to = &walker->tranches[i];

		if (from->count == 0 ||
			from->first + from->count > WSC_LOCK_ROWS - num_shared)
			continue;
		to->first = from->first;
		to->count = from->count;
		if (!WscIsIndividualLock(i))
			to->unknown_row = (int16) --row;
	}
}

WscLockWalker *
WscLockWalkerCreate(void)
{
	WscLockWalker *walker = palloc0(sizeof(WscLockWalker));
	Size		size = sizeof(int) * (Size) WscNumSlots();
	WscMainLocks locks;

	WscMainLocksAttach(&locks);
	strlcpy(walker->problem, locks.problem, sizeof(walker->problem));
	walker->num_tranches = locks.num_tranches;
	if (locks.num_tranches > 0)
	{
		walker->tranches = palloc0(sizeof(WalkedTranche) *
								   (Size) locks.num_tranches);
		give_rows(walker, &locks);
		pfree(locks.tranches);
	}
	walker->sample_of_slot = palloc0(size);
	walker->noted = palloc0(size);
	walker->queue = palloc0(size);
	return walker;
}

const char *
WscLockWalkerProblem(const WscLockWalker *walker)
{
	return walker->problem;
}

/* The tranche that a process waits for, if we can say more about it. */
static WalkedTranche *
find_tranche(const WscLockWalker *walker, uint32 event)
{
	uint32		id = event - PG_WAIT_LWLOCK;

	if (WSC_WAIT_CLASS(event) != PG_WAIT_LWLOCK ||
		id >= (uint32) walker->num_tranches ||
		walker->tranches[id].count == 0)
		return NULL;
	return &walker->tranches[id];
}

/* Step 1 for one sample. */
static void
note_sample(WscLockWalker *walker, const WscSample *samples, int i,
			WscLockWait *wait)
{
	uint32		event = samples[i].wait_event_info;
	WalkedTranche *tranche = find_tranche(walker, event);

	wait->row = WSC_NO_LOCK_ROW;
	wait->lock_index = WSC_LOCK_UNKNOWN;
	if (tranche == NULL)
		return;
	if (WscIsIndividualLock((int) (event - PG_WAIT_LWLOCK)))
	{
		wait->row = (int16) tranche->first;
		wait->lock_index = 0;
		return;
	}
	wait->row = tranche->unknown_row;
	tranche->waiters++;
	walker->sample_of_slot[samples[i].slot] = i + 1;
	walker->noted[walker->num_noted++] = i;
}

/* Step 2 for one lock; returns the length of its queue. */
static int
follow_queue(WscLockWalker *walker, int lock)
{
	int			slot = WscFirstInQueue(lock);
	int			n = 0;

	while (WscIsSlot(slot) && walker->links_left > 0)
	{
		walker->links_left--;
		walker->queue[n++] = slot;
		pg_read_barrier();		/* the link before what it leads to */
		slot = WscNextInQueue(slot);
	}
	return n;
}

/* Was the process in that slot sampled as a waiter, and does it still wait? */
static bool
still_waits(const WscLockWalker *walker, const WscSample *samples, int slot,
			const WalkedTranche *tranche, int *found)
{
	int			i = walker->sample_of_slot[slot] - 1;
	uint32		id = (uint32) (tranche - walker->tranches);
	uint32		event = PG_WAIT_LWLOCK + id;

	*found = i;
	return i >= 0 && samples[i].wait_event_info == event &&
		WscSlotWaitEvent(WscSlot(slot)) == event &&
		WscSlotPid(WscSlot(slot)) == samples[i].pid;
}

/* Step 3 for one lock, with a queue of n. */
static void
confirm_queue(WscLockWalker *walker, const WscSample *samples,
			  WalkedTranche *tranche, int lock, int n, WscLockWait *waits)
{
	int			slot = WscFirstInQueue(lock);

	for (int k = 0; k < n && slot == walker->queue[k]; k++)
	{
		int			i;

		pg_read_barrier();		/* the link before what it leads to */
		if (still_waits(walker, samples, slot, tranche, &i) &&
			waits[i].lock_index == WSC_LOCK_UNKNOWN)
		{
			waits[i].row = (int16) lock;
			waits[i].lock_index = (int16) (lock - tranche->first);
			tranche->waiters--;
		}
		pg_read_barrier();		/* both before the next link */
		slot = WscNextInQueue(slot);
	}
}

static void
walk_tranche(WscLockWalker *walker, const WscSample *samples,
			 WalkedTranche *tranche, WscLockWait *waits)
{
	int			end = tranche->first + tranche->count;

	for (int lock = tranche->first; lock < end && tranche->waiters > 0; lock++)
	{
		int			n = follow_queue(walker, lock);

		pg_read_barrier();		/* the first look before the second */
		confirm_queue(walker, samples, tranche, lock, n, waits);
	}
	tranche->waiters = 0;
}

void
WscLockWalk(WscLockWalker *walker, const WscSample *samples, int n,
			WscLockWait *waits)
{
	walker->num_noted = 0;
	walker->links_left = WscNumSlots();
	for (int i = 0; i < n; i++)
		note_sample(walker, samples, i, &waits[i]); /* 1 */

	pg_read_barrier();			/* the samples before the lists */
	for (int i = 0; i < walker->num_noted; i++)
	{
		const WscSample *sample = &samples[walker->noted[i]];
		WalkedTranche *tranche = find_tranche(walker,
											  sample->wait_event_info);

		if (tranche->waiters > 0)
			walk_tranche(walker, samples, tranche, waits);	/* 2, 3 */
	}
	for (int i = 0; i < walker->num_noted; i++)
		walker->sample_of_slot[samples[walker->noted[i]].slot] = 0;
}
