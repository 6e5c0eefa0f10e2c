/*-------------------------------------------------------------------------
 *
 * main_locks.c
 *	  The server's main array of LWLocks and their wait lists, 13 to 19.
 *
 * Where which lock lies is compiled in, and another build of the server may
 * differ.  So each lock of the array must look like a lock, and be of the
 * tranche that belongs there; else nothing is said about any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/shmem.h"

#include "port/main_locks.h"

/* 17 renamed it. */
#if PG_VERSION_NUM >= 170000
#define NO_SLOT INVALID_PROC_NUMBER
#else
#define NO_SLOT INVALID_PGPROCNO
#endif

static int
tranche_at(int lock)
{
	return MainLWLockArray[lock].lock.tranche;
}

/* Tranche of a lock that the server itself has put there. */
static int
get_fixed_tranche(int lock)
{
	if (lock < BUFFER_MAPPING_LWLOCK_OFFSET)
		return lock;
	if (lock < LOCK_MANAGER_LWLOCK_OFFSET)
		return LWTRANCHE_BUFFER_MAPPING;
	if (lock < PREDICATELOCK_MANAGER_LWLOCK_OFFSET)
		return LWTRANCHE_LOCK_MANAGER;
	return LWTRANCHE_PREDICATE_LOCK_MANAGER;
}

static bool
is_end_of_queue(int slot)
{
	return slot == NO_SLOT || WscIsSlot(slot);
}

/* The two ends of a queue may be of different moments. */
static bool
looks_like_lock(int lock)
{
	volatile LWLockPadded *padded = &MainLWLockArray[lock];

	if (!ShmemAddrIsValid(MainLWLockArray + lock + 1) ||
		!is_end_of_queue(padded->lock.waiters.head) ||
		!is_end_of_queue(padded->lock.waiters.tail))
		return false;
	for (size_t i = sizeof(LWLock); i < sizeof(padded->pad); i++)
		if (padded->pad[i] != 0)
			return false;
	return true;
}

/* Locks that preloaded libraries requested.  They lie behind the fixed ones. */
static int
count_requested_locks(void)
{
#if PG_VERSION_NUM < 190000
	if (NamedLWLockTrancheRequests == 0)
		return 0;
	return (int) ((LWLockPadded *) NamedLWLockTrancheArray -
				  MainLWLockArray) - NUM_FIXED_LWLOCKS;
#else

	/*
	 * The server no longer tells their number: they end where the ids of the
	 * tranches do, which were given out in the order of the requests.
	 */
	int			last = LWTRANCHE_FIRST_USER_DEFINED - 1;
	int			n = 0;

	while (looks_like_lock(NUM_FIXED_LWLOCKS + n))
	{
		int			tranche = tranche_at(NUM_FIXED_LWLOCKS + n);

		if (tranche != last + 1 && (n == 0 || tranche != last))
			break;
		last = tranche;
		n++;
	}
	return n;
#endif
}

static bool
check_lock(int lock, WscMainLocks *locks)
{
	int			tranche = tranche_at(lock);
	int			expected;

	if (lock < NUM_FIXED_LWLOCKS)
		expected = get_fixed_tranche(lock);
	else if (lock == NUM_FIXED_LWLOCKS)
		expected = Max(tranche, LWTRANCHE_FIRST_USER_DEFINED);
	else
		expected = Max(tranche, tranche_at(lock - 1));

	if (!looks_like_lock(lock))
		snprintf(locks->problem, sizeof(locks->problem),
				 "there is no lock at position %d of the main array", lock);
	else if (tranche != expected)
		snprintf(locks->problem, sizeof(locks->problem),
				 "the lock at position %d of the main array is of tranche "
				 "%d, not %d", lock, tranche, expected);
	return locks->problem[0] == '\0';
}

void
WscMainLocksAttach(WscMainLocks *locks)
{
	int			num_locks = NUM_FIXED_LWLOCKS + count_requested_locks();
	int			max_tranche = 0;

	memset(locks, 0, sizeof(*locks));
	for (int i = 0; i < num_locks; i++)
	{
		if (!check_lock(i, locks))
			return;
		max_tranche = Max(max_tranche, tranche_at(i));
	}

	locks->tranches = palloc0(sizeof(WscMainTranche) *
							  ((Size) max_tranche + 1));
	locks->num_tranches = max_tranche + 1;
	for (int i = 0; i < num_locks; i++)
	{
		WscMainTranche *tranche = &locks->tranches[tranche_at(i)];

		if (tranche->count++ == 0)
			tranche->first = i;
	}
}
