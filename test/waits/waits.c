/*-------------------------------------------------------------------------
 *
 * waits.c
 *	  Waits of any kind, under names of any kind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "port/compat.h"
#include "port/lock_compat.h"
#include "port/shmem_compat.h"
#include "port/wait_events.h"

/* A session that nobody cancels gives up. */
#define HOLD_MS 120000
#define NAP_MS 10

/* Some holders take a nap, so that others wait while the CPU is free. */
#define HAMMER_US 50L

#define NAMED_TRANCHE "WscTestNamed"
#define SECOND_TRANCHE "WscTestSecond"
#define NAMED_LOCKS 8
#define SECOND_LOCKS 2

#define TEST_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

PG_MODULE_MAGIC;

TEST_FUNCTION(wsc_test_wait);
TEST_FUNCTION(wsc_test_named_tranche);
TEST_FUNCTION(wsc_test_new_tranche);
TEST_FUNCTION(wsc_test_new_event);
TEST_FUNCTION(wsc_test_hold_page);
TEST_FUNCTION(wsc_test_take_page);
TEST_FUNCTION(wsc_test_hold_lock);
TEST_FUNCTION(wsc_test_take_lock);
TEST_FUNCTION(wsc_test_hammer_locks);
TEST_FUNCTION(wsc_test_set_tranche);

extern PGDLLEXPORT void _PG_init(void);

static void
request_tranche(void)
{
	RequestNamedLWLockTranche(NAMED_TRANCHE, NAMED_LOCKS);
	RequestNamedLWLockTranche(SECOND_TRANCHE, SECOND_LOCKS);
}

static void
do_nothing(void)
{
}

void
_PG_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		WscInstallShmemHooks(request_tranche, do_nothing);
}

/*
 * By naps, since whoever waits for a latch or a lock reports a wait of its
 * own.
 */
Datum
wsc_test_wait(PG_FUNCTION_ARGS)
{
	pgstat_report_wait_start((uint32) PG_GETARG_INT64(0));
	for (int i = 0; i < HOLD_MS / NAP_MS; i++)
	{
		if (QueryCancelPending || ProcDiePending)
			break;
		pg_usleep(NAP_MS * 1000L);
	}
	pgstat_report_wait_end();
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_VOID();
}

static Datum
return_tranche(int tranche)
{
	PG_RETURN_INT64((int64) (PG_WAIT_LWLOCK | (uint32) tranche));
}

Datum
wsc_test_named_tranche(PG_FUNCTION_ARGS)
{
	return return_tranche(GetNamedLWLockTranche(NAMED_TRANCHE)->lock.tranche);
}

Datum
wsc_test_new_tranche(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	/* Before 19 the name is kept by reference. */
	return return_tranche(WscNewTranche(MemoryContextStrdup(TopMemoryContext,
															name)));
}

Datum
wsc_test_new_event(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	PG_RETURN_INT64((int64) WscNewWaitEvent(name));
}

/* Before 19 the modes are macros, and there is one less. */
static void
lock_page(Buffer buffer, const char *mode)
{
	if (strcmp(mode, "cleanup") == 0)
		LockBufferForCleanup(buffer);
	else if (strcmp(mode, "exclusive") == 0)
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	else if (strcmp(mode, "shared") == 0)
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
#ifndef BUFFER_LOCK_SHARE
	else if (strcmp(mode, "share exclusive") == 0)
		LockBuffer(buffer, BUFFER_LOCK_SHARE_EXCLUSIVE);
#endif
	else if (strcmp(mode, "pin") != 0)
		elog(ERROR, "unknown mode \"%s\"", mode);
}

static void
unlock_page(Buffer buffer, const char *mode)
{
	if (strcmp(mode, "pin") != 0)
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buffer);
}

/* Interrupts are held off while a lock is held; the latch is not. */
static void
hold_on(void)
{
	while (!QueryCancelPending && !ProcDiePending)
	{
		if ((WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
					   WL_EXIT_ON_PM_DEATH, HOLD_MS, PG_WAIT_EXTENSION) &
			 WL_TIMEOUT) != 0)
			break;
		ResetLatch(MyLatch);
	}
}

Datum
wsc_test_hold_page(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *mode = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Buffer		buffer = ReadBuffer(rel, 0);

	lock_page(buffer, mode);
	hold_on();
	unlock_page(buffer, mode);
	relation_close(rel, AccessShareLock);
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_VOID();
}

Datum
wsc_test_take_page(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *mode = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Buffer		buffer = ReadBuffer(rel, 0);

	lock_page(buffer, mode);
	unlock_page(buffer, mode);
	relation_close(rel, AccessShareLock);
	PG_RETURN_VOID();
}

/* A lock by the name of its tranche and its position in it. */
static LWLock *
find_lock(const char *tranche, int index)
{
	const struct
	{
		const char *name;
		LWLockPadded *locks;
		int			count;
	}			known[] =
	{
		{"BtreeVacuum", (LWLockPadded *) BtreeVacuumLock, 1},
		{"BufferMapping", MainLWLockArray + BUFFER_MAPPING_LWLOCK_OFFSET,
		NUM_BUFFER_PARTITIONS},
		{"LockManager", MainLWLockArray + LOCK_MANAGER_LWLOCK_OFFSET,
		NUM_LOCK_PARTITIONS},
		{"PredicateLockManager",
			MainLWLockArray + PREDICATELOCK_MANAGER_LWLOCK_OFFSET,
		NUM_PREDICATELOCK_PARTITIONS},
		{NAMED_TRANCHE, NULL, NAMED_LOCKS},
		{SECOND_TRANCHE, NULL, SECOND_LOCKS}
	};

	for (size_t i = 0; i < lengthof(known); i++)
	{
		LWLockPadded *locks = known[i].locks;

		if (strcmp(known[i].name, tranche) != 0)
			continue;
		if (index < 0 || index >= known[i].count)
			elog(ERROR, "%s has no lock %d", tranche, index);
		if (locks == NULL)
			locks = GetNamedLWLockTranche(tranche);
		return &locks[index].lock;
	}
	elog(ERROR, "unknown tranche \"%s\"", tranche);
}

static LWLock *
get_lock_argument(FunctionCallInfo fcinfo)
{
	return find_lock(text_to_cstring(PG_GETARG_TEXT_PP(0)),
					 PG_GETARG_INT32(1));
}

static LWLockMode
get_mode_argument(FunctionCallInfo fcinfo)
{
	return strcmp(text_to_cstring(PG_GETARG_TEXT_PP(2)), "shared") == 0 ?
		LW_SHARED : LW_EXCLUSIVE;
}

Datum
wsc_test_hold_lock(PG_FUNCTION_ARGS)
{
	LWLock	   *lock = get_lock_argument(fcinfo);

	LWLockAcquire(lock, get_mode_argument(fcinfo));
	hold_on();
	LWLockRelease(lock);
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_VOID();
}

Datum
wsc_test_take_lock(PG_FUNCTION_ARGS)
{
	LWLock	   *lock = get_lock_argument(fcinfo);

	LWLockAcquire(lock, get_mode_argument(fcinfo));
	LWLockRelease(lock);
	PG_RETURN_VOID();
}

/*
 * Takes locks of one tranche, one of the first so many at a time, at random,
 * until cancelled.
 */
Datum
wsc_test_hammer_locks(PG_FUNCTION_ARGS)
{
	char	   *tranche = text_to_cstring(PG_GETARG_TEXT_PP(0));
	uint32		count = (uint32) PG_GETARG_INT32(1);
	LWLockMode	mode = get_mode_argument(fcinfo);
	LWLockPadded *locks = (LWLockPadded *) find_lock(tranche, 0);
	uint32		seed = (uint32) MyProcPid;

	(void) find_lock(tranche, (int) count - 1);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < 100; i++)
		{
			LWLock	   *lock;

			seed = seed * 1103515245 + 12345;
			lock = &locks[(seed >> 16) % count].lock;
			LWLockAcquire(lock, mode);
			if ((seed >> 8) % 8 == 0)
				pg_usleep(HAMMER_US);
			LWLockRelease(lock);
		}
	}
}

/* Puts a lock into another tranche; returns the one it was in. */
Datum
wsc_test_set_tranche(PG_FUNCTION_ARGS)
{
	LWLock	   *lock = get_lock_argument(fcinfo);
	uint16		before = lock->tranche;

	lock->tranche = (uint16) PG_GETARG_INT32(2);
	PG_RETURN_INT32(before);
}
