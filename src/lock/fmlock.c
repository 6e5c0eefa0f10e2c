/*-------------------------------------------------------------------------
 *
 * fmlock.c
 *	  Reader/writer lock whose acquire is one fetch-mask-add.
 *
 * Promises: exclusion; no lost wakeup; two atomic read-modify-writes for an
 * uncontended pair; whatever ends a transaction or a process gives up its
 * locks.  It does not promise fairness: a newcomer may overtake the queue,
 * and readers that keep coming can hold a writer off.
 *
 * The state word is changed only by atomic operations.  The wait list (head
 * and tail in the lock, links, mode and "waiting" in the entries of the
 * processes) is changed only under the list lock, a bit of the same word;
 * two exceptions: a process fills in its own entry before it is on the list,
 * and a waker owns the entries it has taken off until it clears "waiting".
 * HAS_WAITERS changes only under the list lock, and outside it says whether
 * the list has entries.  RELEASE_OK is cleared only under the list lock.
 *
 * To acquire:
 *	1. Fetch-mask-add.  Refused: again on plain reads, a bounded number of
 *	   times.  Still refused:
 *	2. Take the list lock.
 *	3. Fill in our entry, append it; set HAS_WAITERS and drop the list lock
 *	   in one operation.
 *	4. Try again.  If the holder released before step 3, it saw no waiter
 *	   and wakes nobody, but then this attempt sees the lock free: both work
 *	   on the same word, so one of the two comes first.  Got it: take our
 *	   entry off the list; if a waker was faster, set RELEASE_OK in its
 *	   place and consume its wakeup.
 *	5. Sleep on our semaphore until a waker has cleared "waiting".
 *	6. Set RELEASE_OK: the outstanding wake has come to its end.  Go to 1.
 *	7. Post back the wakeups that were not ours.  The semaphore is the
 *	   process's only one; LWLocks and group commit wait on it as well.
 *
 * To release:
 *	1. Subtract.  Only the value after that decides; with waiters, RELEASE_OK
 *	   and no holder in it:
 *	2. Take the list lock.  RELEASE_OK clear by now: somebody else has woken.
 *	3. Take off the first entry and, if it is a reader, all other readers;
 *	   clear RELEASE_OK: one wake is outstanding, and until one of the woken
 *	   has come round to step 6 nobody sends another.  Drop the list lock.
 *	4. For each: clear "waiting", post the semaphore.
 *
 * A woken process holds nothing: it has to try, and may have to queue again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/pg_sema.h"
#include "storage/s_lock.h"

#include "lock/fmlock.h"
#include "lock/lockstat.h"
#include "port/atomics/fetch_mask_add.h"
#include "port/compat.h"
#include "port/lock_compat.h"
#include "port/timer.h"

/* The state word: bits, ... */
#define FMLOCK_WRITER			((uint32) 1 << 31)
#define FMLOCK_HAS_WAITERS		((uint32) 1 << 30)
#define FMLOCK_RELEASE_OK		((uint32) 1 << 29)
#define FMLOCK_LIST_LOCKED		((uint32) 1 << 28)
#define FMLOCK_WRITER_FIRST		((uint32) 1 << 27)	/* reserved, never set */
#define FMLOCK_READERS			(((uint32) 1 << 24) - 1)

/* ... masks made of them, ... */
#define FMLOCK_FLAGS (FMLOCK_HAS_WAITERS | FMLOCK_RELEASE_OK | \
					  FMLOCK_LIST_LOCKED | FMLOCK_WRITER_FIRST)
#define FMLOCK_HELD				(FMLOCK_WRITER | FMLOCK_READERS)
#define FMLOCK_WAKE				(FMLOCK_HAS_WAITERS | FMLOCK_RELEASE_OK)

/* ... and what a mode is: the operands of fetch_mask_add. */
typedef struct FmLockPair
{
	uint32		mask;			/* must be clear */
	uint32		add;
} FmLockPair;

static const FmLockPair pairs[FMLOCK_NUM_MODES] =
{
	[FMLOCK_EXCLUSIVE] = {FMLOCK_HELD, FMLOCK_WRITER},
	[FMLOCK_SHARED] = {FMLOCK_WRITER, 1},
};

StaticAssertDecl(MAX_BACKENDS < FMLOCK_READERS,
				 "the readers of a lock must fit into its count");
StaticAssertDecl((FMLOCK_READERS & FMLOCK_FLAGS) == 0 &&
				 (FMLOCK_HELD & FMLOCK_FLAGS) == 0,
				 "the fields of the state word must not overlap");

/* Attempts of step 1 end after about so many pauses of the processor. */
#define FMLOCK_MAX_SPINS 64
#define FMLOCK_MAX_PAUSES 16

/* Then whoever waits for the list lock sleeps: its holder is not running. */
#define FMLOCK_LIST_SPINS 1000

#define FMLOCK_NO_PROC (-1)

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
	int32		prev;			/* process numbers */
	int32		next;
} FmLockWaiter;

typedef union FmLockWaiterPadded
{
	FmLockWaiter waiter;
	char		pad[PG_CACHE_LINE_SIZE];
} FmLockWaiterPadded;

static FmLockWaiterPadded *waiters;

/* Locks held by this process. */
typedef struct HeldLock
{
	FmLock	   *lock;
	FmLockMode	mode;
	bool		contended;		/* miss is to be counted after the release */
	LockStatMiss miss;
} HeldLock;

#define FMLOCK_MAX_HELD 16

static HeldLock held[FMLOCK_MAX_HELD];
static int	num_held = 0;

/* 0 until this process is prepared to hold locks: one test does for both. */
static int	max_held = 0;

/* Where this process counts its gets; nobody reads those of no process. */
static LockStatProc uncounted;
static LockStatProc *counted = &uncounted;

static FmLockWaiter *
waiter_of(int procno)
{
	return &waiters[procno].waiter;
}

Size
FmLockShmemSize(int nprocs)
{
	return add_size(mul_size((Size) nprocs, sizeof(FmLockWaiterPadded)),
					LockStatShmemSize(nprocs));
}

void
FmLockShmemAttach(void *mem, int nprocs, bool found)
{
	waiters = (FmLockWaiterPadded *) mem;
	if (!found)
	{
		for (int i = 0; i < nprocs; i++)
			pg_atomic_init_u32(&waiter_of(i)->waiting, FMLOCK_AWAKE);
	}
	LockStatShmemAttach(waiters + nprocs, nprocs, found);
}

/* RELEASE_OK must be set, or the first wake would never be sent. */
void
FmLockInit(FmLock *lock, const char *name)
{
	pg_atomic_init_u32(&lock->state, FMLOCK_RELEASE_OK);
	lock->head = FMLOCK_NO_PROC;
	lock->tail = FMLOCK_NO_PROC;
	lock->id = (uint16) LockStatRegister(name);
}

static void
release_at_exit(int code, Datum arg)
{
	FmLockReleaseAll();

	/* Our slot will soon be another process's; what is left to run is short. */
	counted = &uncounted;
}

static void
release_at_abort(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		FmLockReleaseAll();
}

static void
release_at_subabort(SubXactEvent event, SubTransactionId mine,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		FmLockReleaseAll();
}

/*
 * Before the first attempt of a process: nothing may fail once a lock is
 * ours.  A process without PGPROC (the postmaster) must not leave callbacks
 * behind for its children, and comes here each time.
 */
static void
prepare_to_hold(void)
{
	if (num_held >= FMLOCK_MAX_HELD)
		elog(ERROR, "too many locks held at once");
	if (MyProc == NULL)
		return;

	RegisterXactCallback(release_at_abort, NULL);
	RegisterSubXactCallback(release_at_subabort, NULL);
	on_shmem_exit(release_at_exit, (Datum) 0);
	counted = LockStatProcOf(WscMyProcNumber());
	max_held = FMLOCK_MAX_HELD;
}

static bool
try_acquire(FmLock *lock, FmLockMode mode, uint32 *retries)
{
	uint32		mask = pairs[mode].mask;
	uint32		old;

	/*
	 * Acquire order, pairs with the subtraction in FmLockRelease(): what the
	 * last holder wrote is seen, and nothing we do moves before.
	 */
	old = wsc_fetch_mask_add_u32_acquire(&lock->state, mask, pairs[mode].add,
										 retries);
	return (old & mask) == 0;
}

/* Rest of step 1.  Refused attempts only read, so the line stays shared. */
static bool
spin_acquire(FmLock *lock, FmLockMode mode, uint32 *retries)
{
	int			pauses = 1;

	for (int spins = 0; spins < FMLOCK_MAX_SPINS; spins += pauses)
	{
		for (int i = 0; i < pauses; i++)
			SPIN_DELAY();
		if (try_acquire(lock, mode, retries))
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

	me->mode = mode;
	me->prev = lock->tail;
	me->next = FMLOCK_NO_PROC;
	pg_atomic_write_u32(&me->waiting, FMLOCK_QUEUED);
	if (lock->tail == FMLOCK_NO_PROC)
		lock->head = procno;
	else
		waiter_of(lock->tail)->next = procno;
	lock->tail = procno;

	/* Both flags are ours to change now, so that an addition can do it. */
	if ((old & FMLOCK_HAS_WAITERS) != 0)
		pg_atomic_fetch_sub_u32(&lock->state, FMLOCK_LIST_LOCKED);
	else
		pg_atomic_fetch_add_u32(&lock->state,
								FMLOCK_HAS_WAITERS - FMLOCK_LIST_LOCKED);
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
 * Everything from the first refusal on.  A process without PGPROC has no
 * semaphore to sleep on.  Interrupts are held off, so that a cancelled waiter
 * leaves the queue by the usual way, with the lock.
 */
static void
acquire_slowly(FmLock *lock, FmLockMode mode, LockStatMiss *miss)
{
	int			foreign = 0;
	int64		start_ns;

	if (MyProc == NULL)
	{
		RESUME_INTERRUPTS();
		elog(ERROR, "cannot wait for a lock without a process slot");
	}

	miss->missed = true;
	miss->slept = false;
	miss->wait_ns = 0;
	if (spin_acquire(lock, mode, &miss->cas_retries))
		return;

	start_ns = WscTimerNow();
	do
	{
		join_list(lock, mode);
		if (try_acquire(lock, mode, &miss->cas_retries))
		{
			foreign += leave_list(lock);
			break;
		}
		miss->slept = true;
		WscReportLockWait(LockStatWaitEvent(lock->id),
						  mode == FMLOCK_EXCLUSIVE);
		foreign += sleep_until_woken();
		pgstat_report_wait_end();
		pg_atomic_fetch_or_u32(&lock->state, FMLOCK_RELEASE_OK);	/* step 6 */
	} while (!try_acquire(lock, mode, &miss->cas_retries) &&
			 !spin_acquire(lock, mode, &miss->cas_retries));

	if (miss->slept)
		miss->wait_ns = WscTimerNow() - start_ns;
	while (foreign-- > 0)		/* step 7 */
		PGSemaphoreUnlock(MyProc->sem);
}

/* The lock is ours: into the list of what we hold. */
static HeldLock *
remember_lock(FmLock *lock, FmLockMode mode)
{
	HeldLock   *entry = &held[num_held++];
	pg_atomic_uint64 *gets = &counted->gets[lock->id][mode];

	entry->lock = lock;
	entry->mode = mode;
	entry->contended = false;
	pg_atomic_write_u64(gets, pg_atomic_read_u64(gets) + 1);
	return entry;
}

void
FmLockAcquire(FmLock *lock, FmLockMode mode)
{
	LockStatMiss miss;
	HeldLock   *entry;

	Assert(!FmLockHeldByMe(lock));
	if (unlikely(num_held >= max_held))
		prepare_to_hold();
	HOLD_INTERRUPTS();

	miss.cas_retries = 0;
	miss.missed = false;
	if (unlikely(!try_acquire(lock, mode, &miss.cas_retries)))
		acquire_slowly(lock, mode, &miss);
	entry = remember_lock(lock, mode);
	if (unlikely(miss.missed || miss.cas_retries > 0))
	{
		entry->contended = true;
		entry->miss = miss;
	}
}

bool
FmLockConditionalAcquire(FmLock *lock, FmLockMode mode)
{
	uint32		retries = 0;

	Assert(!FmLockHeldByMe(lock));
	if (unlikely(num_held >= max_held))
		prepare_to_hold();
	HOLD_INTERRUPTS();
	if (!try_acquire(lock, mode, &retries))
	{
		RESUME_INTERRUPTS();
		LockStatCountRefusal(lock->id, mode);
		return false;
	}
	remember_lock(lock, mode);
	return true;
}

/* Release, steps 2 to 4.  The woken are chained through their own links. */
static void
wake_waiters(FmLock *lock)
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
		if (waiter->mode == FMLOCK_EXCLUSIVE && woken != FMLOCK_NO_PROC)
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

void
FmLockRelease(FmLock *lock)
{
	int			i = num_held - 1;
	FmLockMode	mode;
	LockStatMiss miss;
	bool		contended;
	uint32		left;

	while (i >= 0 && held[i].lock != lock)
		i--;
	if (unlikely(i < 0))
		elog(ERROR, "lock is not held");
	mode = held[i].mode;
	contended = held[i].contended;
	if (unlikely(contended))
		miss = held[i].miss;
	num_held--;
	for (; i < num_held; i++)
		held[i] = held[i + 1];

	/*
	 * Release order (the server's operation is a full barrier), pairs with
	 * try_acquire(): all we read and wrote comes before.  Adding the
	 * negative, as the server's subtraction refuses 2^31.
	 */
	left = pg_atomic_add_fetch_u32(&lock->state,
								   (int32) (0 - pairs[mode].add));
	if (unlikely((left & FMLOCK_WAKE) == FMLOCK_WAKE) &&
		(left & FMLOCK_HELD) == 0)
		wake_waiters(lock);

	/* Not earlier: counting is no reason to hold a contended lock longer. */
	if (unlikely(contended))
		LockStatCountMiss(lock->id, mode, &miss);
	RESUME_INTERRUPTS();
}

/*
 * After an error the count of held-off interrupts is already zero, so each
 * release is given the hold that it takes away.
 */
void
FmLockReleaseAll(void)
{
	while (num_held > 0)
	{
		HOLD_INTERRUPTS();
		FmLockRelease(held[num_held - 1].lock);
	}
}

bool
FmLockHeldByMe(const FmLock *lock)
{
	for (int i = 0; i < num_held; i++)
	{
		if (held[i].lock == lock)
			return true;
	}
	return false;
}
