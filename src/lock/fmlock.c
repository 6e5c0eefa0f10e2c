/*-------------------------------------------------------------------------
 *
 * fmlock.c
 *	  Reader/writer lock whose acquire is one fetch-mask-add.
 *
 * Promises: exclusion; no lost wakeup; two atomic read-modify-writes for an
 * uncontended pair; whatever ends a transaction or a process gives up its
 * locks.  It does not promise fairness: a newcomer may overtake the queue,
 * and readers that keep coming can hold a writer off, unless the lock was
 * told to prefer writers.
 *
 * Here is what every acquire and release does, and what a process remembers
 * of its locks; the numbered protocol is in fmlock_wait.c.  All that is
 * shared here is the state word and the counters of the process itself.
 *
 * Interrupts are held off from before the attempt until after the release.
 * Whatever can fail is done before the attempt: once the lock is ours it is
 * in the list of held locks, and error recovery finds it there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"

#include "lock/fmlock.h"
#include "lock/fmlock_wait.h"
#include "lock/fmlock_word.h"
#include "lock/lockstat.h"
#include "port/lock_compat.h"

/* A lock held by this process. */
typedef struct HeldLock
{
	FmLock	   *lock;
	FmLockMode	mode;
	bool		contended;		/* miss is to be counted after the release */
	LockStatMiss miss;
} HeldLock;

/*
 * The newest is the last; the first is none, so that there always is a last.
 * Until this process is prepared to hold locks there is no room for any: one
 * comparison does for both.
 */
static HeldLock held[FMLOCK_MAX_HELD + 1];
static HeldLock *last_held = held;
static HeldLock *last_room = held;

/* Where this process counts its gets; nobody reads those of no process. */
static LockStatProc uncounted;
static LockStatProc *counted = &uncounted;

Size
FmLockShmemSize(int nprocs)
{
	return add_size(FmLockWaitShmemSize(nprocs), LockStatShmemSize(nprocs));
}

void
FmLockShmemAttach(void *mem, int nprocs, bool found)
{
	FmLockWaitShmemAttach(mem, nprocs, found);
	LockStatShmemAttach((char *) mem + FmLockWaitShmemSize(nprocs), nprocs,
						found);
}

/* RELEASE_OK must be set, or the first wake would never be sent. */
bool
FmLockTryInit(FmLock *lock, const char *name)
{
	int			id;

	pg_atomic_init_u32(&lock->state, FMLOCK_RELEASE_OK);
	lock->head = FMLOCK_NO_PROC;
	lock->tail = FMLOCK_NO_PROC;
	lock->writers_first = false;
	lock->id = 0;				/* the registry's own lock is used below */
	id = LockStatRegister(name);
	if (id == LOCKSTAT_NO_ENTRY)
		return false;
	lock->id = (uint16) id;
	return true;
}

void
FmLockInit(FmLock *lock, const char *name)
{
	if (!FmLockTryInit(lock, name))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("cannot register lock \"%s\"", name),
				 errdetail("There are %d named locks already.",
						   LOCKSTAT_MAX_LOCKS)));
}

void
FmLockPreferWriters(FmLock *lock)
{
	lock->writers_first = true;
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
	if (last_held >= held + FMLOCK_MAX_HELD)
		elog(ERROR, "too many locks held at once");
	if (MyProc == NULL)
		return;

	RegisterXactCallback(release_at_abort, NULL);
	RegisterSubXactCallback(release_at_subabort, NULL);
	on_shmem_exit(release_at_exit, (Datum) 0);
	counted = LockStatProcOf(WscMyProcNumber());
	last_room = held + FMLOCK_MAX_HELD;
}

/* The lock is ours. */
static inline HeldLock *
remember_lock(FmLock *lock, FmLockMode mode)
{
	pg_atomic_uint64 *gets = &counted->gets[lock->id][mode];

	pg_atomic_write_u64(gets, pg_atomic_read_u64(gets) + 1);
	last_held++;
	last_held->lock = lock;
	last_held->mode = mode;
	last_held->contended = false;
	return last_held;
}

/* The first attempt met somebody else; did it get the lock all the same? */
static pg_noinline void
acquire_contended(FmLock *lock, FmLockMode mode, bool got, uint32 retries)
{
	LockStatMiss miss = {0};
	HeldLock   *entry;

	miss.cas_retries = retries;
	miss.missed = !got;
	if (!got)
	{
		/* No semaphore to sleep on, and nothing is ours yet. */
		if (MyProc == NULL)
		{
			RESUME_INTERRUPTS();
			elog(ERROR, "cannot wait for a lock without a process slot");
		}
		FmLockWait(lock, mode, &miss);
	}
	entry = remember_lock(lock, mode);
	entry->contended = true;
	entry->miss = miss;
}

static inline void
acquire(FmLock *lock, FmLockMode mode)
{
	uint32		retries = 0;
	bool		got;

	HOLD_INTERRUPTS();
	got = FmLockTry(lock, &fmlock_pairs[mode], &retries);
	if (likely(got && retries == 0))
		remember_lock(lock, mode);
	else
		acquire_contended(lock, mode, got, retries);
}

static pg_noinline void
prepare_and_acquire(FmLock *lock, FmLockMode mode)
{
	prepare_to_hold();
	acquire(lock, mode);
}

/* What is rare is called last, so that the rest needs no stack. */
void
FmLockAcquire(FmLock *lock, FmLockMode mode)
{
	Assert(!FmLockHeldByMe(lock));
	if (unlikely(last_held >= last_room))
		prepare_and_acquire(lock, mode);
	else
		acquire(lock, mode);
}

bool
FmLockConditionalAcquire(FmLock *lock, FmLockMode mode)
{
	uint32		retries = 0;

	Assert(!FmLockHeldByMe(lock));
	if (unlikely(last_held >= last_room))
		prepare_to_hold();
	HOLD_INTERRUPTS();
	if (!FmLockTry(lock, &fmlock_pairs[mode], &retries))
	{
		RESUME_INTERRUPTS();
		LockStatCountRefusal(lock->id, mode, retries);
		return false;
	}
	if (likely(retries == 0))
		remember_lock(lock, mode);
	else
		acquire_contended(lock, mode, true, retries);
	return true;
}

static inline void
give_up(FmLock *lock, FmLockMode mode)
{
	uint32		left;

	/*
	 * Release order (the server's operation is a full barrier), pairs with
	 * FmLockTry(): all we read and wrote comes before.  Adding the negative,
	 * as the server's subtraction refuses 2^31.
	 */
	left = pg_atomic_add_fetch_u32(&lock->state,
								   (int32) (0 - fmlock_pairs[mode].add));
	if (FmLockMustWake(left))
		FmLockWake(lock);
}

/* Not the newest lock, or one whose acquisition is yet to be counted. */
static pg_noinline void
release_any(FmLock *lock)
{
	HeldLock   *entry = last_held;
	HeldLock	found;

	while (entry > held && entry->lock != lock)
		entry--;
	if (entry == held)
		elog(ERROR, "lock is not held");
	found = *entry;
	for (; entry < last_held; entry++)
		*entry = *(entry + 1);
	last_held--;
	give_up(lock, found.mode);

	/* Not earlier: counting is no reason to hold a contended lock longer. */
	if (found.contended)
		LockStatCountMiss(lock->id, found.mode, &found.miss);
	RESUME_INTERRUPTS();
}

void
FmLockRelease(FmLock *lock)
{
	if (unlikely(last_held->lock != lock || last_held->contended))
	{
		release_any(lock);
		return;
	}
	give_up(lock, (last_held--)->mode);
	RESUME_INTERRUPTS();
}

/*
 * After an error the count of held-off interrupts is already zero, so each
 * release is given the hold that it takes away.
 */
void
FmLockReleaseAll(void)
{
	while (last_held > held)
	{
		HOLD_INTERRUPTS();
		FmLockRelease(last_held->lock);
	}
}

bool
FmLockHeldByMe(const FmLock *lock)
{
	for (const HeldLock *entry = last_held; entry > held; entry--)
	{
		if (entry->lock == lock)
			return true;
	}
	return false;
}
