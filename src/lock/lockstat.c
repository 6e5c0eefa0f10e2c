/*-------------------------------------------------------------------------
 *
 * lockstat.c
 *	  Named locks and how contended they are.
 *
 * The registry (number of entries, names, tranches) is guarded by a lock of
 * its own, itself the first entry; while shared memory is being made there
 * is one process, which has no PGPROC, and the lock is left alone.
 *
 * What every acquire counts lies in memory of the process, where it disturbs
 * nobody: plain increments by the only writer, relaxed reads.  What happens
 * only after a failed attempt is added atomically to the line of the lock
 * and the mode, which is not the lock's own.
 *
 * Reset touches no other process's counters.  The gets only ever grow, over
 * ends and starts of processes as well; a reset raises the base that readers
 * subtract.  The base never goes down, so that of two resets the later one
 * stands, and it is read before the counters it was made of, so that no
 * difference is negative.  The counters in a lock's line are atomic, so they
 * are simply set to zero, the maximum too: a wait that ends while that goes
 * on may be counted in part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "lock/lockstat.h"
#include "port/compat.h"
#include "port/lock_compat.h"

typedef struct LockStatLine
{
	pg_atomic_uint64 gets_base; /* resets: gets of all processes then */
	pg_atomic_uint64 refusals;	/* conditional attempts that failed */
	pg_atomic_uint64 cas_retries;
	pg_atomic_uint64 spin_gets;
	pg_atomic_uint64 wait_ns;
	pg_atomic_uint64 max_wait_ns;
	pg_atomic_uint64 histogram[LOCKSTAT_BUCKETS];
} LockStatLine;

StaticAssertDecl(sizeof(LockStatLine) % PG_CACHE_LINE_SIZE == 0,
				 "counters of two locks must not share a cache line");
StaticAssertDecl(sizeof(LockStatProc) % PG_CACHE_LINE_SIZE == 0,
				 "counters of two processes must not share a cache line");

typedef struct LockStatEntry
{
	char		name[NAMEDATALEN];
	int			tranche;
} LockStatEntry;

/* The array of lines comes first, for its alignment. */
typedef struct LockStatShared
{
	LockStatLine lines[LOCKSTAT_MAX_LOCKS][FMLOCK_NUM_MODES];
	FmLockPadded lock;			/* guards count and entries */
	int			count;
	LockStatEntry entries[LOCKSTAT_MAX_LOCKS];
	pg_atomic_uint64 reset_at;	/* TimestampTz */
} LockStatShared;

static LockStatShared *shared;
static LockStatProc *procs;
static int	num_procs;

static Size
shared_size(void)
{
	return TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(LockStatShared));
}

Size
LockStatShmemSize(int nprocs)
{
	return add_size(shared_size(),
					mul_size((Size) nprocs, sizeof(LockStatProc)));
}

static void
init_line(LockStatLine *line)
{
	pg_atomic_init_u64(&line->gets_base, 0);
	pg_atomic_init_u64(&line->refusals, 0);
	pg_atomic_init_u64(&line->cas_retries, 0);
	pg_atomic_init_u64(&line->spin_gets, 0);
	pg_atomic_init_u64(&line->wait_ns, 0);
	pg_atomic_init_u64(&line->max_wait_ns, 0);
	for (int i = 0; i < LOCKSTAT_BUCKETS; i++)
		pg_atomic_init_u64(&line->histogram[i], 0);
}

void
LockStatShmemAttach(void *mem, int nprocs, bool found)
{
	shared = (LockStatShared *) mem;
	procs = (LockStatProc *) ((char *) mem + shared_size());
	num_procs = nprocs;

	if (found)
	{
		/* Only where processes do not inherit what the postmaster knows. */
		for (int i = 0; i < shared->count; i++)
			WscRegisterTranche(shared->entries[i].tranche,
							   shared->entries[i].name);
		return;
	}

	for (int lock = 0; lock < LOCKSTAT_MAX_LOCKS; lock++)
	{
		for (int mode = 0; mode < FMLOCK_NUM_MODES; mode++)
		{
			init_line(&shared->lines[lock][mode]);
			for (int procno = 0; procno < nprocs; procno++)
				pg_atomic_init_u64(&procs[procno].gets[lock][mode], 0);
		}
	}
	shared->count = 0;
	pg_atomic_init_u64(&shared->reset_at, (uint64) GetCurrentTimestamp());
	FmLockInit(&shared->lock.lock, "pg_waitscope_lock_registry");
}

static void
lock_registry(FmLockMode mode)
{
	if (MyProc != NULL)
		FmLockAcquire(&shared->lock.lock, mode);
}

static void
unlock_registry(void)
{
	if (MyProc != NULL)
		FmLockRelease(&shared->lock.lock);
}

static int
find_entry(const char *name)
{
	for (int i = 0; i < shared->count; i++)
	{
		if (strncmp(shared->entries[i].name, name, NAMEDATALEN - 1) == 0)
			return i;
	}
	return LOCKSTAT_NO_ENTRY;
}

static int
add_entry(const char *name, int tranche)
{
	LockStatEntry *entry;

	if (shared->count == LOCKSTAT_MAX_LOCKS)
		return LOCKSTAT_NO_ENTRY;
	entry = &shared->entries[shared->count];
	strlcpy(entry->name, name, NAMEDATALEN);
	entry->tranche = tranche;
	return shared->count++;
}

/*
 * A tranche cannot be given back and getting one may fail, so the name and
 * whether there is room are looked up first, and again under the exclusive
 * lock.
 */
int
LockStatRegister(const char *name)
{
	char		short_name[NAMEDATALEN];
	bool		full;
	int			lock;
	int			tranche;

	lock_registry(FMLOCK_SHARED);
	lock = find_entry(name);
	full = shared->count == LOCKSTAT_MAX_LOCKS;
	unlock_registry();
	if (lock != LOCKSTAT_NO_ENTRY || full)
		return lock;

	/* The server keeps the pointer, longer than shared memory may live. */
	strlcpy(short_name, name, sizeof(short_name));
	tranche = WscNewTranche(MemoryContextStrdup(TopMemoryContext,
												short_name));
	lock_registry(FMLOCK_EXCLUSIVE);
	lock = find_entry(name);
	if (lock == LOCKSTAT_NO_ENTRY)
		lock = add_entry(name, tranche);
	unlock_registry();
	return lock;
}

/* An entry's tranche is written once, before the lock can be used. */
uint32
LockStatWaitEvent(int lock)
{
	return PG_WAIT_LWLOCK | (uint32) shared->entries[lock].tranche;
}

bool
LockStatNameOfEvent(uint32 wait_event_info, char *name)
{
	bool		found = false;

	if (shared == NULL)
		return false;
	lock_registry(FMLOCK_SHARED);
	for (int lock = 0; lock < shared->count && !found; lock++)
	{
		found = LockStatWaitEvent(lock) == wait_event_info;
		if (found)
			strlcpy(name, shared->entries[lock].name, NAMEDATALEN);
	}
	unlock_registry();
	return found;
}

LockStatProc *
LockStatProcOf(int procno)
{
	return &procs[procno];
}

static void
raise_to(pg_atomic_uint64 *max, uint64 value)
{
	uint64		old = pg_atomic_read_u64(max);

	while (old < value)
	{
		if (pg_atomic_compare_exchange_u64(max, &old, value))
			break;
	}
}

static int
bucket_of(int64 wait_ns)
{
	uint64		wait_us = (uint64) wait_ns / 1000;

	if (wait_us == 0)
		return 0;
	return Min(pg_leftmost_one_pos64(wait_us) + 1, LOCKSTAT_BUCKETS - 1);
}

void
LockStatCountMiss(int lock, FmLockMode mode, const LockStatMiss *miss)
{
	LockStatLine *line = &shared->lines[lock][mode];

	if (miss->cas_retries > 0)
		pg_atomic_fetch_add_u64(&line->cas_retries, miss->cas_retries);
	if (miss->slept)
	{
		pg_atomic_fetch_add_u64(&line->wait_ns, miss->wait_ns);
		raise_to(&line->max_wait_ns, (uint64) miss->wait_ns);
		pg_atomic_fetch_add_u64(&line->histogram[bucket_of(miss->wait_ns)], 1);
	}
	else if (miss->missed)
		pg_atomic_fetch_add_u64(&line->spin_gets, 1);
}

void
LockStatCountRefusal(int lock, FmLockMode mode, uint32 cas_retries)
{
	LockStatLine *line = &shared->lines[lock][mode];

	pg_atomic_fetch_add_u64(&line->refusals, 1);
	if (cas_retries > 0)
		pg_atomic_fetch_add_u64(&line->cas_retries, cas_retries);
}

static uint64
sum_gets(int lock, FmLockMode mode)
{
	uint64		sum = 0;

	for (int procno = 0; procno < num_procs; procno++)
		sum += pg_atomic_read_u64(&procs[procno].gets[lock][mode]);
	return sum;
}

int
LockStatCount(void)
{
	int			count;

	lock_registry(FMLOCK_SHARED);
	count = shared->count;
	unlock_registry();
	return count;
}

bool
LockStatRead(int lock, FmLockMode mode, LockStatRow *row)
{
	LockStatLine *line;
	uint64		base;

	if (lock < 0 || lock >= LockStatCount())
		return false;

	/* A name, once there, does not change. */
	memcpy(row->name, shared->entries[lock].name, NAMEDATALEN);

	line = &shared->lines[lock][mode];
	base = pg_atomic_read_u64(&line->gets_base);
	pg_read_barrier();			/* pairs with the barrier in LockStatReset() */
	row->gets = (int64) (sum_gets(lock, mode) - base);

	row->cas_retries = (int64) pg_atomic_read_u64(&line->cas_retries);
	row->spin_gets = (int64) pg_atomic_read_u64(&line->spin_gets);
	row->wait_ns = (int64) pg_atomic_read_u64(&line->wait_ns);
	row->max_wait_ns = (int64) pg_atomic_read_u64(&line->max_wait_ns);
	row->sleeps = 0;
	for (int i = 0; i < LOCKSTAT_BUCKETS; i++)
	{
		row->histogram[i] = (int64) pg_atomic_read_u64(&line->histogram[i]);
		row->sleeps += row->histogram[i];
	}
	row->misses = row->spin_gets + row->sleeps +
		(int64) pg_atomic_read_u64(&line->refusals);
	return true;
}

static void
reset_line(LockStatLine *line, uint64 gets)
{
	/* The counters were read before the base that is made of them is seen. */
	pg_memory_barrier();
	raise_to(&line->gets_base, gets);
	pg_atomic_write_u64(&line->refusals, 0);
	pg_atomic_write_u64(&line->cas_retries, 0);
	pg_atomic_write_u64(&line->spin_gets, 0);
	pg_atomic_write_u64(&line->wait_ns, 0);
	pg_atomic_write_u64(&line->max_wait_ns, 0);
	for (int i = 0; i < LOCKSTAT_BUCKETS; i++)
		pg_atomic_write_u64(&line->histogram[i], 0);
}

void
LockStatReset(TimestampTz now)
{
	int			count = LockStatCount();

	for (int lock = 0; lock < count; lock++)
	{
		for (int mode = 0; mode < FMLOCK_NUM_MODES; mode++)
			reset_line(&shared->lines[lock][mode],
					   sum_gets(lock, (FmLockMode) mode));
	}
	pg_atomic_write_u64(&shared->reset_at, (uint64) now);
}

TimestampTz
LockStatResetTime(void)
{
	return (TimestampTz) pg_atomic_read_u64(&shared->reset_at);
}
