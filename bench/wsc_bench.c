/*-------------------------------------------------------------------------
 *
 * wsc_bench.c
 *	  Functions that bench/run loads into its throw-away servers.
 *
 * Two of them behave in a way whose truth is known (a wait in step with the
 * clock, many keys), the others time parts of the extension from inside a
 * backend.  The library is linked with its own copies of src/lock,
 * src/sample and src/port, hidden, so it needs neither preloading nor the
 * extension; its locks lie in the backend's own memory, which makes no
 * difference to a lock that nobody else wants.
 *
 * The functions whose names begin with pairs_ are kept out of line: callgrind
 * counts instructions per function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <errno.h>
#include <time.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "lock/fmlock.h"
#include "port/compat.h"
#include "port/shmem_compat.h"
#include "port/timer.h"
#include "sample/buffer_scan.h"
#include "sample/scan.h"

#define NSECS_PER_USEC INT64CONST(1000)
#define NSECS_PER_SEC INT64CONST(1000000000)

/* Any tranche of the core will do: nobody waits for these locks. */
#define BENCH_TRANCHE LWTRANCHE_BUFFER_CONTENT

/* A tranche number that no server hands out in a benchmark. */
#define FIRST_TRANCHE 1000

PG_MODULE_MAGIC;

#define BENCH_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

BENCH_FUNCTION(wsc_bench_clock);
BENCH_FUNCTION(wsc_bench_duty);
BENCH_FUNCTION(wsc_bench_keys);
BENCH_FUNCTION(wsc_bench_lock);
BENCH_FUNCTION(wsc_bench_scan);
BENCH_FUNCTION(wsc_bench_look);

typedef void (*PairsFunction) (int pairs);

static FmLockPadded *fm_lock;
static LWLockPadded *lw_lock;

static void
sleep_until(int64 until_ns)
{
	struct timespec ts;

	ts.tv_sec = (time_t) (until_ns / NSECS_PER_SEC);
	ts.tv_nsec = (long) (until_ns % NSECS_PER_SEC);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		CHECK_FOR_INTERRUPTS();
}

/* wsc_bench_clock(): microseconds of the clock that the sampler goes by. */
Datum
wsc_bench_clock(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(WscTimerNow() / NSECS_PER_USEC);
}

/*
 * wsc_bench_duty(period_us, busy_us, phase_us, cycles): in each cell of the
 * clock's grid reports a wait from phase on for busy, and none for the rest.
 * Returns the milliseconds for which the wait was really reported.
 */
Datum
wsc_bench_duty(PG_FUNCTION_ARGS)
{
	int64		period = PG_GETARG_INT32(0) * NSECS_PER_USEC;
	int64		busy = PG_GETARG_INT32(1) * NSECS_PER_USEC;
	int64		phase = PG_GETARG_INT32(2) * NSECS_PER_USEC;
	int			cycles = PG_GETARG_INT32(3);
	int64		cell = WscTimerNow() / period + 1;
	int64		waited = 0;

	for (int i = 0; i < cycles; i++, cell++)
	{
		int64		start;

		sleep_until(cell * period + phase);
		start = WscTimerNow();
		pgstat_report_wait_start(PG_WAIT_EXTENSION);
		sleep_until(cell * period + phase + busy);
		pgstat_report_wait_end();
		waited += WscTimerNow() - start;
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_FLOAT8((double) waited / 1000000.0);
}

/*
 * wsc_bench_keys(n, first, us, by_event): shows n keys, each for us
 * microseconds: query ids from first on, or tranches of an LWLock wait.
 */
Datum
wsc_bench_keys(PG_FUNCTION_ARGS)
{
	int			n = PG_GETARG_INT32(0);
	int			first = PG_GETARG_INT32(1);
	int64		duration = PG_GETARG_INT32(2) * NSECS_PER_USEC;
	bool		by_event = PG_GETARG_BOOL(3);
	int64		until = WscTimerNow();

	for (int i = 0; i < n; i++)
	{
		uint32		event = PG_WAIT_EXTENSION;

		if (by_event)
			event = PG_WAIT_LWLOCK | (uint32) (FIRST_TRANCHE + i);
		else
			pgstat_report_query_id((uint64) (first + i), true);
		pgstat_report_wait_start(event);
		until += duration;
		sleep_until(until);
		pgstat_report_wait_end();
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_VOID();
}

static void *
allocate_line(Size size)
{
	char	   *mem = MemoryContextAllocZero(TopMemoryContext,
											 size + PG_CACHE_LINE_SIZE);

	return (void *) TYPEALIGN(PG_CACHE_LINE_SIZE, mem);
}

static void
make_locks(void)
{
	int			nprocs = WscMaxProcs();

	if (fm_lock != NULL)
		return;
	FmLockShmemAttach(allocate_line(FmLockShmemSize(nprocs)), nprocs, false);
	lw_lock = allocate_line(sizeof(LWLockPadded));
	LWLockInitialize(&lw_lock->lock, BENCH_TRANCHE);
	fm_lock = allocate_line(sizeof(FmLockPadded));
	FmLockInit(&fm_lock->lock, "wsc_bench");
}

static pg_noinline void
pairs_empty(int pairs)
{
	for (int i = 0; i < pairs; i++)
		pg_compiler_barrier();
}

/* The least that any lock of two atomic operations a pair can cost. */
static pg_noinline void
pairs_bare(int pairs)
{
	for (int i = 0; i < pairs; i++)
	{
		pg_atomic_fetch_add_u32(&fm_lock->lock.state, 1);
		pg_atomic_fetch_sub_u32(&fm_lock->lock.state, 1);
	}
}

static pg_noinline void
pairs_lwlock_shared(int pairs)
{
	for (int i = 0; i < pairs; i++)
	{
		LWLockAcquire(&lw_lock->lock, LW_SHARED);
		LWLockRelease(&lw_lock->lock);
	}
}

static pg_noinline void
pairs_lwlock_exclusive(int pairs)
{
	for (int i = 0; i < pairs; i++)
	{
		LWLockAcquire(&lw_lock->lock, LW_EXCLUSIVE);
		LWLockRelease(&lw_lock->lock);
	}
}

static pg_noinline void
pairs_fmlock_shared(int pairs)
{
	for (int i = 0; i < pairs; i++)
	{
		FmLockAcquire(&fm_lock->lock, FMLOCK_SHARED);
		FmLockRelease(&fm_lock->lock);
	}
}

static pg_noinline void
pairs_fmlock_exclusive(int pairs)
{
	for (int i = 0; i < pairs; i++)
	{
		FmLockAcquire(&fm_lock->lock, FMLOCK_EXCLUSIVE);
		FmLockRelease(&fm_lock->lock);
	}
}

static const struct
{
	const char *name;
	PairsFunction run;
}			variants[] =
{
	{"empty", pairs_empty},
	{"bare", pairs_bare},
	{"lwlock_shared", pairs_lwlock_shared},
	{"lwlock_exclusive", pairs_lwlock_exclusive},
	{"fmlock_shared", pairs_fmlock_shared},
	{"fmlock_exclusive", pairs_fmlock_exclusive},
};

static int64
read_cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64) ts.tv_sec * NSECS_PER_SEC + ts.tv_nsec;
}

/* wsc_bench_lock(variant, pairs): CPU nanoseconds a pair. */
Datum
wsc_bench_lock(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			pairs = PG_GETARG_INT32(1);

	make_locks();
	for (size_t i = 0; i < lengthof(variants); i++)
	{
		int64		start;

		if (strcmp(name, variants[i].name) != 0)
			continue;
		start = read_cpu_time();
		variants[i].run(pairs);
		PG_RETURN_FLOAT8((double) (read_cpu_time() - start) / pairs);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no variant \"%s\"", name)));
}

/* wsc_bench_scan(n): CPU nanoseconds of one of n scans back to back. */
Datum
wsc_bench_scan(PG_FUNCTION_ARGS)
{
	int			n = PG_GETARG_INT32(0);
	WscScanner *scanner = WscScannerCreate();
	WscScanOptions options = {false, false, 0};
	WscSample  *samples = palloc(sizeof(WscSample) *
								 (Size) WscScannerSlots(scanner));
	uint32		counts[WSC_NUM_STATE_CLASSES];
	int64		start = read_cpu_time();

	for (int i = 0; i < n; i++)
		WscScan(scanner, &options, samples, counts);
	PG_RETURN_FLOAT8((double) (read_cpu_time() - start) / n);
}

/*
 * wsc_bench_look(n, cold): CPU microseconds of one of n looks for the blocks
 * that are waited for, a few milliseconds apart, and the part of the waiters
 * that they found.  Looks while nobody waits do not count.  Cold: without
 * knowing where waiters were before.
 */
Datum
wsc_bench_look(PG_FUNCTION_ARGS)
{
	int			n = PG_GETARG_INT32(0);
	bool		cold = PG_GETARG_BOOL(1);
	WscBufferScanner *scanner = WscBufferScannerCreate();
	int64		time = 0;
	int64		waiting = 0;
	int64		found = 0;
	int			looks = 0;
	Datum		result[2];

	for (int i = 0; i < n; i++)
	{
		WscBufferLook look;
		int64		start;

		CHECK_FOR_INTERRUPTS();
		pg_usleep(3000);
		if (cold)
			scanner = WscBufferScannerCreate();
		start = read_cpu_time();
		WscBufferScan(scanner, NSECS_PER_SEC, &look);
		if (look.waiting == 0)
			continue;
		time += read_cpu_time() - start;
		waiting += look.waiting;
		found += Min(look.found, look.waiting);
		looks++;
	}
	result[0] = Float8GetDatum(time / 1000.0 / Max(looks, 1));
	result[1] = Float8GetDatum((double) found / Max(waiting, 1));
	PG_RETURN_ARRAYTYPE_P(construct_array(result, 2, FLOAT8OID, 8,
										  FLOAT8PASSBYVAL,
										  TYPALIGN_DOUBLE));
}
