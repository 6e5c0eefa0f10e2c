/*-------------------------------------------------------------------------
 *
 * fmlock_test.c
 *	  Driver of the lock tests: shared memory, load, statistics.
 *
 * Preloaded; the functions raise an error otherwise.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "lock/fmlock.h"
#include "lock/lockstat.h"
#include "port/atomics/fetch_mask_add.h"
#include "port/lock_compat.h"
#include "port/shmem_compat.h"
#include "port/timer.h"

#include "fmlock_test.h"

#ifdef FMTEST_PAUSES
#define FMTEST_NAME "fmlock_paused"
#elif defined(WSC_GENERIC_FETCH_MASK_ADD)
#define FMTEST_NAME "fmlock_generic"
#else
#define FMTEST_NAME "fmlock_native"
#endif

/* A player that does not come within this time sleeps for good. */
#define FMTEST_PATIENCE_NS INT64CONST(10000000000)

PG_MODULE_MAGIC;

FMTEST_FUNCTION(fmtest_hammer);
FMTEST_FUNCTION(fmtest_totals);
FMTEST_FUNCTION(fmtest_duel);
FMTEST_FUNCTION(fmtest_reset_duel);
FMTEST_FUNCTION(fmtest_prefer_writers);
FMTEST_FUNCTION(fmtest_register);
FMTEST_FUNCTION(fmtest_count_stats);
FMTEST_FUNCTION(fmtest_read_stats);
FMTEST_FUNCTION(fmtest_reset_stats);
FMTEST_FUNCTION(fmtest_pairs);
FMTEST_FUNCTION(fmtest_fetch_mask_add);

extern PGDLLEXPORT void _PG_init(void);

static FmTest *test;
static uint32 random_state;

FmLockMode
FmTestMode(const char *name)
{
	return strcmp(name, "shared") == 0 ? FMLOCK_SHARED : FMLOCK_EXCLUSIVE;
}

FmTest *
FmTestShared(void)
{
	if (test == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s must be loaded via \"shared_preload_libraries\"",
						FMTEST_NAME)));
	return test;
}

static Size
locks_size(void)
{
	return CACHELINEALIGN(FmLockShmemSize(WscMaxProcs()));
}

static void
request_test(void)
{
	RequestAddinShmemSpace(add_size(locks_size(), sizeof(FmTest)));
}

static void
init_test(void)
{
	memset(test, 0, sizeof(FmTest));
	FmLockInit(&test->lock.lock, FMTEST_NAME);
	for (int i = 0; i < FMTEST_NESTED; i++)
		FmLockInit(&test->nested[i].lock, FMTEST_NAME "_nested");
	LWLockInitialize(&test->lwlock.lock, WscNewTranche(FMTEST_NAME "_lwlock"));
	pg_atomic_init_u64(&test->reads, 0);
	pg_atomic_init_u64(&test->writes, 0);
	pg_atomic_init_u64(&test->torn, 0);
	pg_atomic_init_u64(&test->arrived, 0);
	pg_atomic_init_u64(&test->relays, 0);
	for (int i = 0; i < FMTEST_GATES; i++)
		pg_atomic_init_u32(&test->open[i], i == 0);

	/* A process without PGPROC, whose children must find nothing odd. */
	if (FmLockConditionalAcquire(&test->lock.lock, FMLOCK_EXCLUSIVE))
	{
		FmLockRelease(&test->lock.lock);
		test->postmaster_tried = true;
	}
}

static void
attach_test(void)
{
	bool		found;
	char	   *mem = ShmemInitStruct(FMTEST_NAME,
									  locks_size() + sizeof(FmTest), &found);

	FmLockShmemAttach(mem, WscMaxProcs(), found);
	test = (FmTest *) (mem + locks_size());
	if (!found)
		init_test();
}

void
_PG_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		WscInstallShmemHooks(request_test, attach_test);
}

static Datum
make_row(FunctionCallInfo fcinfo, Datum *values)
{
	TupleDesc	tupdesc;
	bool		nulls[16] = {false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls));
}

static void
seed_random(void)
{
	random_state = (uint32) MyProcPid * 7919 + (uint32) WscTimerNow();
}

static uint32
draw(uint32 bound)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % bound;
}

/* See pauses.h.  Now and then long enough for all others to come by. */
void
FmTestPause(void)
{
	uint32		what = draw(8);

	if (what == 0)
		pg_usleep(draw(300));
	else if (what < 4)
		sched_yield();
}

/* Something that takes time and that the compiler leaves alone. */
static void
work(uint32 rounds)
{
	for (volatile uint32 i = 0; i < rounds; i++)
		continue;
}

static void
write_once(int hold_us)
{
	FmLockAcquire(&test->lock.lock, FMLOCK_EXCLUSIVE);
	test->guarded.v.a++;
	if (hold_us > 0)
		pg_usleep(hold_us);
	else
		work(draw(100));
	test->guarded.v.b++;
	FmLockRelease(&test->lock.lock);
}

static bool
read_once(int hold_us)
{
	int64		a;
	int64		b;

	FmLockAcquire(&test->lock.lock, FMLOCK_SHARED);
	a = test->guarded.v.a;
	if (hold_us > 0)
		pg_usleep(hold_us);
	else
		work(draw(100));
	b = test->guarded.v.b;
	FmLockRelease(&test->lock.lock);
	return a == b;
}

/*
 * Every 16th operation holds the lock for hold_us, so that others really
 * queue, however few processors there are.
 */
Datum
fmtest_hammer(PG_FUNCTION_ARGS)
{
	int			ops = PG_GETARG_INT32(0);
	uint32		write_pct = (uint32) PG_GETARG_INT32(1);
	int			hold_us = PG_GETARG_INT32(2);
	int64		reads = 0;
	int64		writes = 0;
	int64		torn = 0;
	Datum		values[3];

	FmTestShared();
	seed_random();
	for (int i = 0; i < ops; i++)
	{
		int			hold = i % 16 == 0 ? hold_us : 0;

		if (draw(100) < write_pct)
		{
			write_once(hold);
			writes++;
		}
		else
		{
			if (!read_once(hold))
				torn++;
			reads++;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pg_atomic_fetch_add_u64(&test->reads, reads);
	pg_atomic_fetch_add_u64(&test->writes, writes);
	pg_atomic_fetch_add_u64(&test->torn, torn);

	values[0] = Int64GetDatum(reads);
	values[1] = Int64GetDatum(writes);
	values[2] = Int64GetDatum(torn);
	return make_row(fcinfo, values);
}

Datum
fmtest_totals(PG_FUNCTION_ARGS)
{
	Datum		values[5];

	FmTestShared();
	values[0] = Int64GetDatum(test->guarded.v.a);
	values[1] = Int64GetDatum(test->guarded.v.b);
	values[2] = Int64GetDatum((int64) pg_atomic_read_u64(&test->reads));
	values[3] = Int64GetDatum((int64) pg_atomic_read_u64(&test->writes));
	values[4] = Int64GetDatum((int64) pg_atomic_read_u64(&test->torn));
	return make_row(fcinfo, values);
}

/* Whoever sleeps in the lock for good never arrives; the others say so. */
static void
meet(uint32 players)
{
	uint64		number = pg_atomic_fetch_add_u64(&test->arrived, 1);
	uint64		all = (number / players + 1) * players;
	int64		since_ns = WscTimerNow();

	while (pg_atomic_read_u64(&test->arrived) < all)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(10);
		if (WscTimerNow() - since_ns > FMTEST_PATIENCE_NS)
			elog(ERROR, "lost wakeup: a player did not come");
	}
}

/*
 * A wakeup is lost for good only if nobody comes by afterwards; so after each
 * round everybody has to be back before the lock is used again.
 */
Datum
fmtest_duel(PG_FUNCTION_ARGS)
{
	uint32		players = (uint32) PG_GETARG_INT32(0);
	int			rounds = PG_GETARG_INT32(1);
	uint32		write_pct = (uint32) PG_GETARG_INT32(2);

	FmTestShared();
	seed_random();
	for (int i = 0; i < rounds; i++)
	{
		int			hold_us = (int) draw(200);

		meet(players);
		if (draw(100) < write_pct)
			write_once(hold_us);
		else if (!read_once(hold_us))
			elog(ERROR, "torn read");
	}
	meet(players);
	if (FmTestCountPosts() != 0)
		elog(ERROR, "a wakeup was left over");
	PG_RETURN_VOID();
}

Datum
fmtest_reset_duel(PG_FUNCTION_ARGS)
{
	pg_atomic_write_u64(&FmTestShared()->arrived, 0);
	PG_RETURN_VOID();
}

/* While nobody uses the lock; FmLockPreferWriters() is not for taking back. */
Datum
fmtest_prefer_writers(PG_FUNCTION_ARGS)
{
	FmTestShared()->lock.lock.writers_first = PG_GETARG_BOOL(0);
	PG_RETURN_VOID();
}

Datum
fmtest_register(PG_FUNCTION_ARGS)
{
	FmTestShared();
	FmLockInit(&test->spare.lock, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_INT32(test->spare.lock.id);
}

Datum
fmtest_count_stats(PG_FUNCTION_ARGS)
{
	FmTestShared();
	PG_RETURN_INT32(LockStatCount());
}

Datum
fmtest_read_stats(PG_FUNCTION_ARGS)
{
	FmLockMode	mode = FmTestMode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	LockStatRow row;
	Datum		values[9];
	Datum		buckets[LOCKSTAT_BUCKETS];

	FmTestShared();
	if (!LockStatRead(PG_GETARG_INT32(0), mode, &row))
		PG_RETURN_NULL();
	for (int i = 0; i < LOCKSTAT_BUCKETS; i++)
		buckets[i] = Int64GetDatum(row.histogram[i]);
	values[0] = CStringGetTextDatum(row.name);
	values[1] = Int64GetDatum(row.gets);
	values[2] = Int64GetDatum(row.misses);
	values[3] = Int64GetDatum(row.cas_retries);
	values[4] = Int64GetDatum(row.spin_gets);
	values[5] = Int64GetDatum(row.sleeps);
	values[6] = Int64GetDatum(row.wait_ns / 1000);
	values[7] = Int64GetDatum(row.max_wait_ns / 1000);
	values[8] = PointerGetDatum(construct_array(buckets, LOCKSTAT_BUCKETS,
												INT8OID, sizeof(int64),
												FLOAT8PASSBYVAL, 'd'));
	return make_row(fcinfo, values);
}

Datum
fmtest_reset_stats(PG_FUNCTION_ARGS)
{
	FmTestShared();
	LockStatReset(GetCurrentTimestamp());
	PG_RETURN_VOID();
}

Datum
fmtest_pairs(PG_FUNCTION_ARGS)
{
	bool		lwlock = strcmp(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								"lwlock") == 0;
	FmLockMode	mode = FmTestMode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int			n = PG_GETARG_INT32(2);

	FmTestShared();
	for (int i = 0; i < n; i++)
	{
		if (lwlock)
		{
			LWLockAcquire(&test->lwlock.lock,
						  mode == FMLOCK_SHARED ? LW_SHARED : LW_EXCLUSIVE);
			LWLockRelease(&test->lwlock.lock);
		}
		else
		{
			FmLockAcquire(&test->lock.lock, mode);
			FmLockRelease(&test->lock.lock);
		}
	}
	PG_RETURN_VOID();
}

Datum
fmtest_fetch_mask_add(PG_FUNCTION_ARGS)
{
	const char *form = text_to_cstring(PG_GETARG_TEXT_PP(0));
	uint32		mask = (uint32) PG_GETARG_INT64(2);
	uint32		add = (uint32) PG_GETARG_INT64(3);
	uint32		retries = 0;
	uint32		returned;
	pg_atomic_uint32 word;
	Datum		values[2];

	pg_atomic_init_u32(&word, (uint32) PG_GETARG_INT64(1));
	if (strcmp(form, "acquire") == 0)
		returned = wsc_fetch_mask_add_u32_acquire(&word, mask, add, &retries);
	else if (strcmp(form, "full") == 0)
		returned = wsc_fetch_mask_add_u32(&word, mask, add, &retries);
	else if (strcmp(form, "generic acquire") == 0)
		returned = wsc_generic_fetch_mask_add_u32_acquire(&word, mask, add,
														  &retries);
	else
		returned = wsc_generic_fetch_mask_add_u32(&word, mask, add, &retries);
	values[0] = Int64GetDatum((int64) returned);
	values[1] = Int64GetDatum((int64) pg_atomic_read_u32(&word));
	return make_row(fcinfo, values);
}
