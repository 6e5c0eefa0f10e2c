/*-------------------------------------------------------------------------
 *
 * lock_variants.c
 *	  The locks that the benchmark compares, each with its loop.
 *
 * The loop is one inline function, instantiated for each variant, so that
 * acquire and release are inlined where they would be in real use, and
 * called where they would be called.
 *
 * The variants fm_... are the bare lock word of FmLock with its wait queue:
 * they do not hold interrupts off in each pair, do not remember the lock and
 * count nothing.  That shows what the rest of FmLock costs, and what the form
 * of the operation is worth.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/pmsignal.h"
#include "storage/s_lock.h"

#include "bench/lock_variants.h"
#include "lock/fmlock_wait.h"
#include "lock/fmlock_word.h"
#include "port/atomics/fetch_mask_add.h"
#include "port/futex.h"
#include "port/spin_variants.h"
#include "port/timer.h"

/* After so many pauses a spinlock's waiter sleeps: the holder may not run. */
#define SPINS_PER_SLEEP 100
#define SPIN_SLEEP_US 1000

/* As often a waiter of the lock on a futex tries before it sleeps. */
#define FUTEX_SPINS 64

StaticAssertDecl(sizeof(WscBenchLock) == PG_CACHE_LINE_SIZE &&
				 sizeof(WscBenchPair) == PG_CACHE_LINE_SIZE,
				 "the lock and what it guards must not share a cache line");

typedef void (*AcquireFunction) (WscBenchLock *lock, bool write);
typedef void (*ReleaseFunction) (WscBenchLock *lock, bool write);
typedef bool (*AttemptFunction) (pg_atomic_uint32 *word);

static inline void
spend_turns(int turns)
{
	for (int i = 0; i < turns; i++)
		pg_compiler_barrier();
}

/*
 * One random number decides whether to write and whether to take the time,
 * by bits that are far apart.  Nobody says when to stop if the leader and the
 * postmaster are gone: then it ends by itself, while it holds nothing.
 */
static pg_attribute_always_inline void
run_loop(WscBenchTask *task, AcquireFunction acquire, ReleaseFunction release)
{
	WscBenchLock *lock = task->lock;
	WscBenchPair *pair = task->pair;
	uint64		write_below = (((uint64) task->write_pct << 32) + 99) / 100;
	uint64		random = task->random;

	HOLD_INTERRUPTS();
	while (pg_atomic_read_u32(task->running) != 0 && !InterruptPending)
	{
		int64		start_ns = 0;
		bool		timed;
		bool		write;

		random = random * UINT64CONST(6364136223846793005) +
			UINT64CONST(1442695040888963407);
		write = (random >> 32) < write_below;
		timed = (random >> 20) % WSC_BENCH_TIMED_ONE_OF == 0;

		if (unlikely(timed))
		{
			if (!PostmasterIsAlive())
				break;
			start_ns = WscTimerNow();
		}
		acquire(lock, write);
		if (unlikely(timed))
			WscWaitAdd(&task->waits, (uint64) (WscTimerNow() - start_ns));
		if (write)
		{
			pair->counters.first++;
			spend_turns(task->hold);
			pair->counters.second++;
			task->writes++;
		}
		else
		{
			uint64		first = pair->counters.first;

			spend_turns(task->hold);
			if (first != pair->counters.second)
				task->torn++;
			task->reads++;
		}
		release(lock, write);
		spend_turns(task->think);
	}
	RESUME_INTERRUPTS();
	task->random = random;
}

#define DEFINE_RUN(variant) \
	static void \
	run_##variant(WscBenchTask *task) \
	{ \
		run_loop(task, acquire_##variant, release_##variant); \
	}

/*
 * The floor: two atomic operations on one word, and no lock.
 */

static void
init_word(WscBenchLock *lock, const char *name)
{
	pg_atomic_init_u32(&lock->word, 0);
}

static inline void
acquire_rmw(WscBenchLock *lock, bool write)
{
	pg_atomic_fetch_add_u32(&lock->word, 1);
}

static inline void
release_rmw(WscBenchLock *lock, bool write)
{
	pg_atomic_fetch_sub_u32(&lock->word, 1);
}

DEFINE_RUN(rmw)

/*
 * The server's own.
 */

/* Waits show under the same name as those for our lock. */
static void
init_lwlock(WscBenchLock *lock, const char *name)
{
	FmLock		named;

	FmLockInit(&named, name);
	LWLockInitialize(&lock->lwlock,
					 (int) (LockStatWaitEvent(named.id) & ~PG_WAIT_LWLOCK));
}

static inline void
acquire_lwlock(WscBenchLock *lock, bool write)
{
	LWLockAcquire(&lock->lwlock, write ? LW_EXCLUSIVE : LW_SHARED);
}

static inline void
release_lwlock(WscBenchLock *lock, bool write)
{
	LWLockRelease(&lock->lwlock);
}

DEFINE_RUN(lwlock)

static void
init_spinlock(WscBenchLock *lock, const char *name)
{
	SpinLockInit(&lock->spinlock);
}

static inline void
acquire_spinlock(WscBenchLock *lock, bool write)
{
	SpinLockAcquire(&lock->spinlock);
}

static inline void
release_spinlock(WscBenchLock *lock, bool write)
{
	SpinLockRelease(&lock->spinlock);
}

DEFINE_RUN(spinlock)

/*
 * Spinlocks of our own.  With "test" a waiter reads the word until it looks
 * free, and only then tries again.
 */

static pg_attribute_always_inline void
spin_until_free(pg_atomic_uint32 *word, AttemptFunction attempt, bool test)
{
	int			spins = 0;

	do
	{
		if (++spins % SPINS_PER_SLEEP == 0)
			pg_usleep(SPIN_SLEEP_US);
		else
			SPIN_DELAY();
	} while ((test && pg_atomic_read_u32(word) != 0) || !attempt(word));
}

static inline void
release_spin(WscBenchLock *lock, bool write)
{
	wsc_spin_release(&lock->word);
}

#define DEFINE_SPIN(variant, attempt, test) \
	static pg_noinline void \
	wait_##variant(pg_atomic_uint32 *word) \
	{ \
		spin_until_free(word, attempt, test); \
	} \
	static inline void \
	acquire_##variant(WscBenchLock *lock, bool write) \
	{ \
		if (unlikely(!attempt(&lock->word))) \
			wait_##variant(&lock->word); \
	} \
	static void \
	run_##variant(WscBenchTask *task) \
	{ \
		run_loop(task, acquire_##variant, release_spin); \
	}

DEFINE_SPIN(tas, wsc_tas, false)
DEFINE_SPIN(tas_test, wsc_tas, true)
DEFINE_SPIN(tas_hint, wsc_tas_hint, false)
DEFINE_SPIN(cas, wsc_cas, false)
DEFINE_SPIN(cas_test, wsc_cas, true)
DEFINE_SPIN(cas_llsc, wsc_cas_llsc, false)
DEFINE_SPIN(cas_lse, wsc_cas_lse, false)

/*
 * FmLock, as shipped.
 */

static void
init_fmlock(WscBenchLock *lock, const char *name)
{
	FmLockInit(&lock->fmlock, name);
}

static inline FmLockMode
mode_of(bool write)
{
	return write ? FMLOCK_EXCLUSIVE : FMLOCK_SHARED;
}

static inline void
acquire_fmlock(WscBenchLock *lock, bool write)
{
	FmLockAcquire(&lock->fmlock, mode_of(write));
}

static inline void
release_fmlock(WscBenchLock *lock, bool write)
{
	FmLockRelease(&lock->fmlock);
}

DEFINE_RUN(fmlock)

/* The same, preferring writers. */
static void
init_fmlock_writers(WscBenchLock *lock, const char *name)
{
	FmLockInit(&lock->fmlock, name);
	FmLockPreferWriters(&lock->fmlock);
}

/*
 * Its word alone.
 */

/* Interrupts are held off for the whole run, as waiting requires. */
static pg_noinline void
wait_for_word(FmLock *lock, FmLockMode mode)
{
	LockStatMiss miss = {0};

	FmLockWait(lock, mode, &miss);
}

static inline void
release_word(WscBenchLock *lock, bool write)
{
	uint32		add = fmlock_pairs[mode_of(write)].add;
	uint32		left;

	left = pg_atomic_add_fetch_u32(&lock->fmlock.state, (int32) (0 - add));
	if (FmLockMustWake(left))
		FmLockWake(&lock->fmlock);
}

#define DEFINE_FM(variant, operation) \
	static inline void \
	acquire_##variant(WscBenchLock *lock, bool write) \
	{ \
		const FmLockPair *pair = &fmlock_pairs[mode_of(write)]; \
		uint32		retries = 0; \
		uint32		old = operation(&lock->fmlock.state, pair->mask, \
									pair->add, &retries); \
		if (unlikely((old & pair->mask) != 0)) \
			wait_for_word(&lock->fmlock, mode_of(write)); \
	} \
	static void \
	run_##variant(WscBenchTask *task) \
	{ \
		run_loop(task, acquire_##variant, release_word); \
	}

/* What the operation would be without the value that a failed swap returns. */
static inline uint32
fetch_mask_add_reread(volatile pg_atomic_uint32 *ptr, uint32 mask, uint32 add,
					  uint32 *retries)
{
	for (;;)
	{
		uint32		old = pg_atomic_read_u32(ptr);
		uint32		expected = old;

		if ((old & mask) != 0 ||
			pg_atomic_compare_exchange_u32(ptr, &expected, old + add))
			return old;
	}
}

#ifdef WSC_NATIVE_FETCH_MASK_ADD
#define native_fetch_mask_add wsc_native_fetch_mask_add_u32_acquire
#else
#define native_fetch_mask_add wsc_generic_fetch_mask_add_u32_acquire
#endif

static const char *
why_no_native(void)
{
#ifdef WSC_NATIVE_FETCH_MASK_ADD
	return NULL;
#else
	return "there is only the generic form for this CPU and compiler";
#endif
}

DEFINE_FM(fm_generic, wsc_generic_fetch_mask_add_u32_acquire)
DEFINE_FM(fm_native, native_fetch_mask_add)
DEFINE_FM(fm_reread, fetch_mask_add_reread)

/*
 * A reader adds itself without a loop, and takes it back if a writer was
 * there.  That is a release like any other: the writer may have gone
 * meanwhile, and have woken nobody because of us.
 */
static inline void
acquire_fm_optimistic(WscBenchLock *lock, bool write)
{
	uint32		mask = fmlock_pairs[FMLOCK_SHARED].mask;
	pg_atomic_uint32 *state = &lock->fmlock.state;

	if (write)
	{
		acquire_fm_native(lock, true);
		return;
	}
	if (likely((pg_atomic_read_u32(state) & mask) == 0))
	{
		if (likely((pg_atomic_fetch_add_u32(state, 1) & mask) == 0))
			return;
		release_word(lock, false);
	}
	wait_for_word(&lock->fmlock, FMLOCK_SHARED);
}

static void
run_fm_optimistic(WscBenchTask *task)
{
	run_loop(task, acquire_fm_optimistic, release_word);
}

/*
 * The same fast path, but who has to wait sleeps in the kernel, on the number
 * of wakes.  It reads that before it announces itself by FMLOCK_HAS_WAITERS:
 * a wake after that changes the number, and one before has cleared the flag
 * for others.  A wake is for all, since the flag is theirs together.
 */

static void
init_fm_futex(WscBenchLock *lock, const char *name)
{
	pg_atomic_init_u32(&lock->futex.state, 0);
	pg_atomic_init_u32(&lock->futex.wakes, 0);
}

static inline bool
try_futex(WscFutexLock *lock, const FmLockPair *pair)
{
	uint32		retries = 0;

	return (native_fetch_mask_add(&lock->state, pair->mask, pair->add,
								  &retries) & pair->mask) == 0;
}

static pg_noinline void
wait_for_futex(WscFutexLock *lock, const FmLockPair *pair)
{
	for (;;)
	{
		uint32		wakes;
		uint32		old;

		for (int spins = 0; spins < FUTEX_SPINS; spins++)
		{
			SPIN_DELAY();
			if (try_futex(lock, pair))
				return;
		}
		wakes = pg_atomic_read_u32(&lock->wakes);
		pg_memory_barrier();
		old = pg_atomic_fetch_or_u32(&lock->state, FMLOCK_HAS_WAITERS);
		if ((old & pair->mask) != 0)
			WscFutexWait(&lock->wakes, wakes);
	}
}

static pg_noinline void
wake_futex(WscFutexLock *lock)
{
	pg_atomic_fetch_and_u32(&lock->state, ~FMLOCK_HAS_WAITERS);
	pg_atomic_fetch_add_u32(&lock->wakes, 1);
	WscFutexWakeAll(&lock->wakes);
}

static inline void
acquire_fm_futex(WscBenchLock *lock, bool write)
{
	const FmLockPair *pair = &fmlock_pairs[mode_of(write)];

	if (unlikely(!try_futex(&lock->futex, pair)))
		wait_for_futex(&lock->futex, pair);
}

static inline void
release_fm_futex(WscBenchLock *lock, bool write)
{
	uint32		add = fmlock_pairs[mode_of(write)].add;
	uint32		left;

	left = pg_atomic_add_fetch_u32(&lock->futex.state, (int32) (0 - add));
	if (unlikely((left & FMLOCK_HAS_WAITERS) != 0) &&
		(left & FMLOCK_HELD) == 0)
		wake_futex(&lock->futex);
}

DEFINE_RUN(fm_futex)

static const char *
why_no_futex(void)
{
#ifdef WSC_HAVE_FUTEX
	return NULL;
#else
	return "needs futexes, which Linux has";
#endif
}

/*
 * The C library's.
 */

static void
init_pthread_rwlock(WscBenchLock *lock, const char *name)
{
	pthread_rwlockattr_t attr;

	if (pthread_rwlockattr_init(&attr) != 0 ||
		pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) != 0 ||
		pthread_rwlock_init(&lock->rwlock, &attr) != 0)
		elog(ERROR, "pthread_rwlock_init failed");
	pthread_rwlockattr_destroy(&attr);
}

static inline void
acquire_pthread_rwlock(WscBenchLock *lock, bool write)
{
	if (write)
		pthread_rwlock_wrlock(&lock->rwlock);
	else
		pthread_rwlock_rdlock(&lock->rwlock);
}

static inline void
release_pthread_rwlock(WscBenchLock *lock, bool write)
{
	pthread_rwlock_unlock(&lock->rwlock);
}

DEFINE_RUN(pthread_rwlock)

static const char *
always_runs(void)
{
	return NULL;
}

/* In this order the error about an unknown name lists them. */
const WscLockVariant wsc_lock_variants[] =
{
	{"rmw", false, always_runs, init_word, run_rmw},
	{"lwlock", true, always_runs, init_lwlock, run_lwlock},
	{"spinlock", true, always_runs, init_spinlock, run_spinlock},
	{"tas", true, always_runs, init_word, run_tas},
	{"tas_test", true, always_runs, init_word, run_tas_test},
	{"tas_hint", true, wsc_why_no_tas_hint, init_word, run_tas_hint},
	{"cas", true, always_runs, init_word, run_cas},
	{"cas_test", true, always_runs, init_word, run_cas_test},
	{"cas_llsc", true, wsc_why_no_cas_llsc, init_word, run_cas_llsc},
	{"cas_lse", true, wsc_why_no_cas_lse, init_word, run_cas_lse},
	{"fmlock", true, always_runs, init_fmlock, run_fmlock},
	{"fmlock_writers", true, always_runs, init_fmlock_writers, run_fmlock},
	{"fm_generic", true, always_runs, init_fmlock, run_fm_generic},
	{"fm_native", true, why_no_native, init_fmlock, run_fm_native},
	{"fm_reread", true, always_runs, init_fmlock, run_fm_reread},
	{"fm_optimistic", true, always_runs, init_fmlock, run_fm_optimistic},
	{"fm_futex", true, why_no_futex, init_fm_futex, run_fm_futex},
	{"pthread_rwlock", true, always_runs, init_pthread_rwlock,
	run_pthread_rwlock},
};

const int	wsc_num_lock_variants = lengthof(wsc_lock_variants);
