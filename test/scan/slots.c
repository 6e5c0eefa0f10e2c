/*-------------------------------------------------------------------------
 *
 * slots.c
 *	  Scans the process array step by step, and provokes LWLock waits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "port/procarray.h"
#include "port/shmem_compat.h"
#include "sample/scan.h"
#include "scan_test.h"

/* A holder that nobody cancels gives up. */
#define HOLD_MS 60000

/* Of no use to anyone while autovacuum is off. */
#define TEST_LOCK AutovacuumScheduleLock

#define TEST_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

TEST_FUNCTION(wsc_test_scanner_open);
TEST_FUNCTION(wsc_test_scan);
TEST_FUNCTION(wsc_test_scan_count);
TEST_FUNCTION(wsc_test_stale_pids);
TEST_FUNCTION(wsc_test_slots);
TEST_FUNCTION(wsc_test_free_slots);
TEST_FUNCTION(wsc_test_used_slots);
TEST_FUNCTION(wsc_test_hold_lwlock);
TEST_FUNCTION(wsc_test_take_lwlock);

extern void __real_WscStatusAttach(WscStatusArray *array);
extern void __wrap_WscStatusAttach(WscStatusArray *array);

const WscStatusArray *given_status;

static const WscStatusArray blind_status = {NULL, 0, "blind"};
static WscScanner *scanner;
static WscSample *samples;
static uint32 counts[WSC_NUM_STATE_CLASSES];

/* Stands before the product's function by the linker's --wrap. */
void
__wrap_WscStatusAttach(WscStatusArray *array)
{
	__real_WscStatusAttach(array);
	if (given_status != NULL)
		*array = *given_status;
}

Datum
wsc_test_scanner_open(PG_FUNCTION_ARGS)
{
	MemoryContext oldcxt = MemoryContextSwitchTo(TopMemoryContext);
	const char *problem;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	given_status = PG_GETARG_BOOL(0) ? &blind_status : NULL;
	scanner = WscScannerCreate();
	given_status = NULL;
	samples = palloc0(sizeof(WscSample) * (Size) WscScannerSlots(scanner));
	MemoryContextSwitchTo(oldcxt);

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row");
	problem = WscScannerStatusProblem(scanner);
	values[0] = Int32GetDatum(WscScannerSlots(scanner));
	values[1] = Int32GetDatum(WscScannerDelay(scanner));
	nulls[2] = problem == NULL;
	values[2] = nulls[2] ? (Datum) 0 : CStringGetTextDatum(problem);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

static Tuplestorestate *
begin_rows(FunctionCallInfo fcinfo, TupleDesc *desc)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext oldcxt;

	oldcxt = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row");
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = tuplestore_begin_heap(true, false, work_mem);
	rsinfo->setDesc = *desc;
	MemoryContextSwitchTo(oldcxt);
	return rsinfo->setResult;
}

Datum
wsc_test_scan(PG_FUNCTION_ARGS)
{
	WscScanOptions options = {
		.idle = PG_GETARG_BOOL(0),
		.self = PG_GETARG_BOOL(1),
		.skip_pid = PG_GETARG_INT32(2)
	};
	TupleDesc	desc;
	Tuplestorestate *store = begin_rows(fcinfo, &desc);
	int			n = WscScan(scanner, &options, samples, counts);

	for (int i = 0; i < n; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Int32GetDatum(samples[i].pid);
		values[1] = Int32GetDatum(samples[i].state_class);
		values[2] = Int32GetDatum(samples[i].flags);
		tuplestore_putvalues(store, desc, values, nulls);
	}
	return (Datum) 0;
}

Datum
wsc_test_scan_count(PG_FUNCTION_ARGS)
{
	int64		sum = 0;

	for (int i = 0; i < WSC_NUM_STATE_CLASSES; i++)
		sum += counts[i];
	PG_RETURN_INT64(sum);
}

Datum
wsc_test_stale_pids(PG_FUNCTION_ARGS)
{
	int			n = 0;

	for (int slot = 0; slot < WscNumSlots(); slot++)
	{
		if (WscSlot(slot)->pid != 0 && WscSlotPid(WscSlot(slot)) == 0)
			n++;
	}
	PG_RETURN_INT32(n);
}

Datum
wsc_test_slots(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row");
	values[0] = Int32GetDatum(WscNumSlots());
	values[1] = Int32GetDatum(WscFirstAuxiliarySlot());
	values[2] = Int32GetDatum(WscMaxProcs());
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

Datum
wsc_test_free_slots(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Tuplestorestate *store = begin_rows(fcinfo, &desc);
	int		   *slots = palloc0(sizeof(int) * (Size) WscNumSlots());
	int			n = WscPeekFreeList(PG_GETARG_INT32(0), slots, WscNumSlots());

	for (int i = 0; i < n; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {false};

		values[0] = Int32GetDatum(i + 1);
		values[1] = Int32GetDatum(slots[i]);
		tuplestore_putvalues(store, desc, values, nulls);
	}
	return (Datum) 0;
}

Datum
wsc_test_used_slots(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Tuplestorestate *store = begin_rows(fcinfo, &desc);

	for (int slot = 0; slot < WscNumSlots(); slot++)
	{
		int			pid = WscSlotPid(WscSlot(slot));
		Datum		values[2];
		bool		nulls[2] = {false};

		values[0] = Int32GetDatum(slot);
		values[1] = Int32GetDatum(pid);
		if (pid != 0)
			tuplestore_putvalues(store, desc, values, nulls);
	}
	return (Datum) 0;
}

/* Interrupts are held off while the lock is held; the latch is not. */
Datum
wsc_test_hold_lwlock(PG_FUNCTION_ARGS)
{
	LWLockAcquire(TEST_LOCK, LW_EXCLUSIVE);
	while (!QueryCancelPending && !ProcDiePending)
	{
		if ((WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
					   WL_EXIT_ON_PM_DEATH, HOLD_MS, PG_WAIT_EXTENSION) &
			 WL_TIMEOUT) != 0)
			break;
		ResetLatch(MyLatch);
	}
	LWLockRelease(TEST_LOCK);
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_VOID();
}

Datum
wsc_test_take_lwlock(PG_FUNCTION_ARGS)
{
	char	   *mode = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (strcmp(mode, "exclusive") == 0)
		LWLockAcquire(TEST_LOCK, LW_EXCLUSIVE);
	else if (strcmp(mode, "shared") == 0)
		LWLockAcquire(TEST_LOCK, LW_SHARED);
	else if (strcmp(mode, "until free") != 0)
		elog(ERROR, "unknown mode \"%s\"", mode);
	else if (!LWLockAcquireOrWait(TEST_LOCK, LW_EXCLUSIVE))
		PG_RETURN_VOID();		/* waited, and did not get it */
	LWLockRelease(TEST_LOCK);
	PG_RETURN_VOID();
}
