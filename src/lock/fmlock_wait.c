/*-------------------------------------------------------------------------
 *
 * fmlock_wait.c
 *	  The queue of a lock: waiting and waking.
 *
 * The wait list (head and tail in the lock; links, mode and "waiting" in the
 * entries of the processes) is changed only under the list lock, a bit of
 * the state word; but a waker owns the entries it has taken off, until it
 * clears "waiting".  HAS_WAITERS changes only under the list lock, and
 * outside it says whether the list has entries.  RELEASE_OK is cleared, and
 * WRITER_FIRST set, only under the list lock.
 *
 * To acquire:
 *	1. Fetch-mask-add.  Refused: again on plain reads, a bounded number of
 *	   times.  Still refused:
 *	2. Take the list lock.
 *	3. Fill in our entry, append it; set HAS_WAITERS and drop the list lock
 *	   in one operation.  If the lock prefers writers, and we are one, and
 *	   WRITER_FIRST is clear, set that as well: it is ours.
 *	4. Try again.  If the holder released before step 3, it saw no waiter
 *	   and wakes nobody, but then this attempt sees the lock free: both work
 *	   on the same word, so one of the two comes first.  Got it: take our
 *	   entry off the list; if a waker was faster, set RELEASE_OK in its
 *	   place and consume its wakeup.  Refused though nobody has the lock,
 *	   because of another's WRITER_FIRST: we may have been woken to no avail
 *	   before, so do steps 2 to 4 of a release where its step 1 says so.
 *	5. Sleep on our semaphore until a waker has cleared "waiting".
 *	6. Set RELEASE_OK: the outstanding wake has come to its end.  Go to 1.
 *	7. With the lock, if WRITER_FIRST is ours: take the list lock, give it
 *	   to the first writer on the list, or clear it if there is none.
 *	8. Post back the wakeups that were not ours.  The semaphore is the
 *	   process's only one; LWLocks and group commit wait on it as well.
 *
 * To release:
 *	1. Subtract.  Only the value after that decides; with waiters, RELEASE_OK
 *	   and no holder in it:
 *	2. Take the list lock.  RELEASE_OK clear by now: somebody else has woken.
 *	3. Take off the first entry and, if it is a reader, all other readers;
 *	   with WRITER_FIRST, the first writer instead, if there is one.  Clear
 *	   RELEASE_OK if any was taken: one wake is outstanding, and until one
 *	   of the woken has come round to step 6 nobody sends another.  Drop the
 *	   list lock.
 *	4. For each: clear "waiting", post the semaphore.
 *
 * A woken process holds nothing: it has to try, and may have to queue again.
 *
 * If the lock prefers writers, WRITER_FIRST is set while a writer is on the
 * list, and until the writer that owns it has the lock; and no reader gets
 * the lock while it is set.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/pg_sema.h"
#include "storage/s_lock.h"

#include "lock/fmlock_wait.h"
#include "lock/fmlock_word.h"
#include "port/compat.h"
#include "port/lock_compat.h"
#include "port/timer.h"

/* Attempts of step 1 end after about so many pauses of the processor. */
#define FMLOCK_MAX_SPINS 64
#define FMLOCK_MAX_PAUSES 16

/* Then whoever waits for the list lock sleeps: its holder is not running. */
#define FMLOCK_LIST_SPINS 1000

/* Values of FmLockWaiter.waiting. */
enum
{
	FMLOCK_AWAKE,
	FMLOCK_QUEUED,				/* on a list */
	FMLOCK_TAKEN				/* off the list, owned by a waker */
};

/* Wait queue entry of a process; what guards it is said at the top. */
typedef struct FmLockWaiter
{
	pg_atomic_uint32 waiting;
	FmLockMode	mode;
	bool		first;			/* WRITER_FIRST is its own */
	int32		prev;			/* process numbers */
	int32		next;
} FmLockWaiter;

typedef union FmLockWaiterPadded
{
	FmLockWaiter waiter;
	char		pad[PG_CACHE_LINE_SIZE];
} FmLockWaiterPadded;

static FmLockWaiterPadded *waiters;

static FmLockWaiter *
waiter_of(int procno)
{
	return &waiters[procno].waiter;
}

Size
FmLockWaitShmemSize(int nprocs)
{
	return mul_size((Size) nprocs, sizeof(FmLockWaiterPadded));
}

void
FmLockWaitShmemAttach(void *mem, int nprocs, bool found)
{
	waiters = (FmLockWaiterPadded *) mem;
	if (found)
		return;
	for (int i = 0; i < nprocs; i++)
	{
		pg_atomic_init_u32(&waiter_of(i)->waiting, FMLOCK_AWAKE);
		waiter_of(i)->first = false;
	}
}

/* Rest of step 1.  Refused attempts only read, so the line stays shared. */
static bool
spin_acquire(FmLock *lock, const FmLockPair *pair, uint32 *retries)
{
	int			pauses = 1;

	for (int spins = 0; spins < FMLOCK_MAX_SPINS; spins += pauses)
	{
		for (int i = 0; i < pauses; i++)
			SPIN_DELAY();
		if (FmLockTry(lock, pair, retries))
			return true;
		pauses = Min(pauses * 2, FMLOCK_MAX_PAUSES);
	}
	return false;
}

/*
 * Returns the word as it was.  Full barrier, pairs with unlock_list() of the
 * previous holder of the list lock.
 */
static uint32
lock_list(FmLock *lock)
{
	for (;;)
	{
		uint32		old;
		int			spins = 0;

		old = pg_atomic_fetch_or_u32(&lock->state, FMLOCK_LIST_LOCKED);
		if ((old & FMLOCK_LIST_LOCKED) == 0)
			return old;
		while ((pg_atomic_read_u32(&lock->state) & FMLOCK_LIST_LOCKED) != 0)
		{
			if (++spins < FMLOCK_LIST_SPINS)
				SPIN_DELAY();
			else
				pg_usleep(1000L);
		}
	}
}

/* Drops the list lock, with it the given flags.  Full barrier. */
static void
unlock_list(FmLock *lock, uint32 flags)
{
	if (lock->head == FMLOCK_NO_PROC)
		flags |= FMLOCK_HAS_WAITERS;
	pg_atomic_fetch_and_u32(&lock->state, ~(FMLOCK_LIST_LOCKED | flags));
}

static void
take_off_list(FmLock *lock, FmLockWaiter *waiter)
{
	if (waiter->prev == FMLOCK_NO_PROC)
		lock->head = waiter->next;
	else
		waiter_of(waiter->prev)->next = waiter->next;
	if (waiter->next == FMLOCK_NO_PROC)
		lock->tail = waiter->prev;
	else
		waiter_of(waiter->next)->prev = waiter->prev;
}

/* Steps 2 and 3. */
static void
join_list(FmLock *lock, FmLockMode mode)
{
	int			procno = WscMyProcNumber();
	FmLockWaiter *me = waiter_of(procno);
	uint32		old = lock_list(lock);
	uint32		missing = 0;

	me->mode = mode;
	me->prev = lock->tail;
	me->next = FMLOCK_NO_PROC;
	pg_atomic_write_u32(&me->waiting, FMLOCK_QUEUED);
	if (lock->tail == FMLOCK_NO_PROC)
		lock->head = procno;
	else
		waiter_of(lock->tail)->next = procno;
	lock->tail = procno;

	missing = ~old & FMLOCK_HAS_WAITERS;
	if (lock->writers_first && mode == FMLOCK_EXCLUSIVE)
		missing |= ~old & FMLOCK_WRITER_FIRST;
	if ((missing & FMLOCK_WRITER_FIRST) != 0)
		me->first = true;

	/* Only we may set these flags now, so that an addition can do it. */
	pg_atomic_fetch_add_u32(&lock->state,
							(int32) (missing - FMLOCK_LIST_LOCKED));
}

/*
 * Step 5.  Returns the number of wakeups that were not ours.  A foreign one
 * that comes when "waiting" is already clear is taken for ours, and the one
 * that was sent to us is then left for the other party: they are all alike.
 *
 * What we do to our entry next comes after lock_list(), a full barrier.
 */
static int
sleep_until_woken(void)
{
	FmLockWaiter *me = waiter_of(WscMyProcNumber());
	int			foreign = 0;

	for (;;)
	{
		PGSemaphoreLock(MyProc->sem);
		if (pg_atomic_read_u32(&me->waiting) == FMLOCK_AWAKE)
			return foreign;
		foreign++;
	}
}

/* End of step 4.  Returns what sleep_until_woken() does. */
static int
leave_list(FmLock *lock)
{
	FmLockWaiter *me = waiter_of(WscMyProcNumber());

	lock_list(lock);
	if (pg_atomic_read_u32(&me->waiting) == FMLOCK_QUEUED)
	{
		take_off_list(lock, me);
		pg_atomic_write_u32(&me->waiting, FMLOCK_AWAKE);
		unlock_list(lock, 0);
		return 0;
	}
	unlock_list(lock, 0);
	pg_atomic_fetch_or_u32(&lock->state, FMLOCK_RELEASE_OK);
	return sleep_until_woken();
}

/*
 * Step 7.  Only who is on the list is made the owner, and we are not on it any
 * more: our own entry can be looked at without the list lock.
 */
static void
pass_on_preference(FmLock *lock)
{
	FmLockWaiter *me = waiter_of(WscMyProcNumber());
	int32		procno;

	if (!me->first)
		return;
	me->first = false;
	lock_list(lock);
	procno = lock->head;
	while (procno != FMLOCK_NO_PROC &&
		   waiter_of(procno)->mode != FMLOCK_EXCLUSIVE)
		procno = waiter_of(procno)->next;
	if (procno != FMLOCK_NO_PROC)
		waiter_of(procno)->first = true;
	unlock_list(lock, procno == FMLOCK_NO_PROC ? FMLOCK_WRITER_FIRST : 0);
}

/*
 * Everything after the first refusal.  As interrupts are held off, a waiter
 * who is cancelled leaves the queue in the usual way, with the lock.
 */
void
FmLockWait(FmLock *lock, FmLockMode mode, LockStatMiss *miss)
{
	const FmLockPair *pair = &fmlock_pairs[mode];
	int			foreign = 0;
	int64		start_ns;

	if (spin_acquire(lock, pair, &miss->cas_retries))
		return;

	start_ns = WscTimerNow();
	do
	{
		uint32		old;

		join_list(lock, mode);
		old = FmLockAttempt(lock, pair, &miss->cas_retries);
		if ((old & pair->mask) == 0)
		{
			foreign += leave_list(lock);
			break;
		}
		if (FmLockMustWake(old))
			FmLockWake(lock);
		miss->slept = true;
		WscReportLockWait(LockStatWaitEvent(lock->id),
						  mode == FMLOCK_EXCLUSIVE);
		foreign += sleep_until_woken();
		pgstat_report_wait_end();
		pg_atomic_fetch_or_u32(&lock->state, FMLOCK_RELEASE_OK);	/* step 6 */
	} while (!FmLockTry(lock, pair, &miss->cas_retries) &&
			 !spin_acquire(lock, pair, &miss->cas_retries));

	if (miss->slept)
		miss->wait_ns = WscTimerNow() - start_ns;
	pass_on_preference(lock);
	while (foreign-- > 0)		/* step 8 */
		PGSemaphoreUnlock(MyProc->sem);
}

/* Release, steps 2 to 4.  The woken are chained through their own links. */
void
FmLockWake(FmLock *lock)
{
	uint32		old = lock_list(lock);
	int32		woken = FMLOCK_NO_PROC;
	int32	   *end = &woken;
	int32		next;

	if ((old & FMLOCK_RELEASE_OK) == 0)
	{
		unlock_list(lock, 0);
		return;
	}

	for (int32 procno = lock->head; procno != FMLOCK_NO_PROC; procno = next)
	{
		FmLockWaiter *waiter = waiter_of(procno);

		next = waiter->next;
		if (waiter->mode == FMLOCK_EXCLUSIVE ? woken != FMLOCK_NO_PROC :
			(old & FMLOCK_WRITER_FIRST) != 0)
			continue;
		take_off_list(lock, waiter);
		pg_atomic_write_u32(&waiter->waiting, FMLOCK_TAKEN);
		*end = procno;
		end = &waiter->next;
		waiter->next = FMLOCK_NO_PROC;
		if (waiter->mode == FMLOCK_EXCLUSIVE)
			break;
	}
	unlock_list(lock, woken == FMLOCK_NO_PROC ? 0 : FMLOCK_RELEASE_OK);

	for (; woken != FMLOCK_NO_PROC; woken = next)
	{
		FmLockWaiter *waiter = waiter_of(woken);

		/*
		 * Our last look at the entry comes before it is given back: pairs
		 * with lock_list(), behind which its owner uses it again.
		 */
		next = waiter->next;
		pg_memory_barrier();
		pg_atomic_write_u32(&waiter->waiting, FMLOCK_AWAKE);
		PGSemaphoreUnlock(GetPGProcByNumber(woken)->sem);
	}
}
