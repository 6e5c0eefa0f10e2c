/*-------------------------------------------------------------------------
 *
 * fmlock_test_errors.c
 *	  Driver of the lock tests: what can end a holder or a waiter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/pg_sema.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"

#include "lock/fmlock.h"
#include "port/timer.h"

#include "fmlock_test.h"

/* A gate that nobody opens within this time is a fault of the test. */
#define FMTEST_GATE_NS INT64CONST(120000000000)

/* So long a reader waits for the next. */
#define FMTEST_RELAY_NS INT64CONST(100000000)

FMTEST_FUNCTION(fmtest_hold);
FMTEST_FUNCTION(fmtest_read_on);
FMTEST_FUNCTION(fmtest_set_gate);
FMTEST_FUNCTION(fmtest_try);
FMTEST_FUNCTION(fmtest_postmaster_tried);
FMTEST_FUNCTION(fmtest_nest);
FMTEST_FUNCTION(fmtest_release);
FMTEST_FUNCTION(fmtest_hold_at_exit);
FMTEST_FUNCTION(fmtest_leftovers);
FMTEST_FUNCTION(fmtest_post);
FMTEST_FUNCTION(fmtest_count_posts);

static bool
wait_for_gate(int gate)
{
	int64		start_ns = WscTimerNow();

	while (pg_atomic_read_u32(&FmTestShared()->open[gate]) == 0)
	{
		pg_usleep(1000L);
		if (WscTimerNow() - start_ns > FMTEST_GATE_NS)
			return false;
	}
	return true;
}

static int
check_gate(int gate)
{
	if (gate < 0 || gate >= FMTEST_GATES)
		elog(ERROR, "there is no gate %d", gate);
	return gate;
}

/* Errors while a lock is held are against the rules; here they are the test. */
Datum
fmtest_hold(PG_FUNCTION_ARGS)
{
	FmTest	   *test = FmTestShared();
	FmLockMode	mode = FmTestMode(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	int			gate = check_gate(PG_GETARG_INT32(1));
	const char *ending = text_to_cstring(PG_GETARG_TEXT_PP(2));
	bool		opened;

	FmLockAcquire(&test->lock.lock, mode);
	opened = wait_for_gate(gate);
	if (strcmp(ending, "error") == 0)
		elog(ERROR, "error while the lock is held");
	if (strcmp(ending, "fatal") == 0)
		elog(FATAL, "end of the process while the lock is held");
	FmLockRelease(&test->lock.lock);
	CHECK_FOR_INTERRUPTS();
	if (!opened)
		elog(ERROR, "gate %d stayed shut", gate);
	PG_RETURN_VOID();
}

/* The newest reader stays. */
Datum
fmtest_read_on(PG_FUNCTION_ARGS)
{
	FmTest	   *test = FmTestShared();
	int			gate = check_gate(PG_GETARG_INT32(0));

	while (pg_atomic_read_u32(&test->open[gate]) == 0)
	{
		int64		start_ns = WscTimerNow();
		uint64		mine;

		FmLockAcquire(&test->lock.lock, FMLOCK_SHARED);
		mine = pg_atomic_add_fetch_u64(&test->relays, 1);
		while (pg_atomic_read_u64(&test->relays) == mine &&
			   WscTimerNow() - start_ns < FMTEST_RELAY_NS)
			pg_usleep(100L);
		FmLockRelease(&test->lock.lock);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_VOID();
}

Datum
fmtest_set_gate(PG_FUNCTION_ARGS)
{
	int			gate = check_gate(PG_GETARG_INT32(0));

	pg_atomic_write_u32(&FmTestShared()->open[gate], PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

Datum
fmtest_try(PG_FUNCTION_ARGS)
{
	FmTest	   *test = FmTestShared();
	FmLockMode	mode = FmTestMode(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	bool		got = FmLockConditionalAcquire(&test->lock.lock, mode);

	if (got)
		FmLockRelease(&test->lock.lock);
	PG_RETURN_BOOL(got);
}

Datum
fmtest_postmaster_tried(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FmTestShared()->postmaster_tried);
}

Datum
fmtest_nest(PG_FUNCTION_ARGS)
{
	FmTest	   *test = FmTestShared();
	int			first = PG_GETARG_INT32(0);
	int			end = first + PG_GETARG_INT32(1);

	if (first < 0 || end > FMTEST_NESTED)
		elog(ERROR, "there are %d locks", FMTEST_NESTED);
	for (int i = first; i < end; i++)
		FmLockAcquire(&test->nested[i].lock, FMLOCK_EXCLUSIVE);

	/* Not in the order of their acquisition. */
	for (int i = first; i < end; i++)
		FmLockRelease(&test->nested[i].lock);
	PG_RETURN_VOID();
}

Datum
fmtest_release(PG_FUNCTION_ARGS)
{
	FmLockRelease(&FmTestShared()->lock.lock);
	PG_RETURN_VOID();
}

static void
acquire_at_exit(int code, Datum arg)
{
	FmLockAcquire(&FmTestShared()->lock.lock, FMLOCK_EXCLUSIVE);
}

/* At that moment there is no transaction any more whose abort would do. */
Datum
fmtest_hold_at_exit(PG_FUNCTION_ARGS)
{
	FmTestShared();
	before_shmem_exit(acquire_at_exit, (Datum) 0);
	PG_RETURN_VOID();
}

Datum
fmtest_leftovers(PG_FUNCTION_ARGS)
{
	FmTest	   *test = FmTestShared();
	int			held = FmLockHeldByMe(&test->lock.lock) ? 1 : 0;
	TupleDesc	tupdesc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	for (int i = 0; i < FMTEST_NESTED; i++)
	{
		if (FmLockHeldByMe(&test->nested[i].lock))
			held++;
	}
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum(held);
	values[1] = Int32GetDatum((int32) InterruptHoldoffCount);
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls));
}

/* Takes what this process's semaphore has, and puts it back. */
int
FmTestCountPosts(void)
{
	int			count = 0;

	while (PGSemaphoreTryLock(MyProc->sem))
		count++;
	for (int i = 0; i < count; i++)
		PGSemaphoreUnlock(MyProc->sem);
	return count;
}

Datum
fmtest_count_posts(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(FmTestCountPosts());
}

/* Returns when the process, which is asleep, has consumed the wakeup. */
Datum
fmtest_post(PG_FUNCTION_ARGS)
{
	PGPROC	   *proc = BackendPidGetProc(PG_GETARG_INT32(0));
	int64		since_ns = WscTimerNow();

	if (proc == NULL)
		elog(ERROR, "there is no process %d", PG_GETARG_INT32(0));
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (WscTimerNow() - since_ns > FMTEST_GATE_NS)
			elog(ERROR, "the process does not wake up");
		PGSemaphoreUnlock(proc->sem);
		pg_usleep(10000L);
	} while (PGSemaphoreTryLock(proc->sem));
	PG_RETURN_VOID();
}
