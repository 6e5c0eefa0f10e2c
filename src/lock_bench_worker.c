/*-------------------------------------------------------------------------
 *
 * lock_bench_worker.c
 *	  Background worker of the benchmark of locks.
 *
 * Between slices it sleeps on its latch.  Once all that take part have come to
 * the start they poll for it: a wakeup of each would spread the start over
 * the scheduler's latencies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pmsignal.h"
#include "tcop/tcopprot.h"

#include "lock_bench.h"
#include "port/compat.h"
#include "port/wait_events.h"
#include "port/worker.h"

#define START_POLL_US 50

extern PGDLLEXPORT void WscBenchWorkerMain(Datum arg);

/* A counter of the leader's: wakes it when all have come. */
static void
count_in(WscBenchShared *shared, pg_atomic_uint32 *counter, int all)
{
	if (pg_atomic_add_fetch_u32(counter, 1) == (uint32) all)
		SetLatch(shared->leader);
}

/* False: there will be none. */
static bool
wait_for_slice(WscBenchShared *shared, int me, uint32 *slice,
			   uint32 wait_event)
{
	for (;;)
	{
		uint32		last = *slice;

		CHECK_FOR_INTERRUPTS();
		if (pg_atomic_read_u32(&shared->stop) != 0)
			return false;
		*slice = pg_atomic_read_u32(&shared->workers[me].slice);
		if (*slice != last)
		{
			pg_read_barrier();	/* pairs with publish_slice() */
			return true;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 wait_event);
		ResetLatch(MyLatch);
	}
}

/* Where it does not sleep on its latch, which sees to this. */
static void
end_if_told(void)
{
	CHECK_FOR_INTERRUPTS();
	if (!PostmasterIsAlive())
		proc_exit(1);
}

static void
take_part(WscBenchShared *shared, int me, uint32 slice)
{
	const WscLockVariant *variant = &wsc_lock_variants[shared->variant];
	WscBenchWorker *result = &shared->workers[me];
	WscBenchTask task;
	int64		cpu_ns;

	memset(&task, 0, sizeof(task));
	task.lock = &shared->lock;
	task.pair = &shared->pair;
	task.running = &shared->running;
	task.write_pct = shared->write_pct;
	task.hold = shared->hold;
	task.think = shared->think;
	task.random = (uint64) slice * UINT64CONST(0x9E3779B97F4A7C15) +
		(uint64) me * UINT64CONST(0xBF58476D1CE4E5B9);

	count_in(shared, &shared->ready, shared->clients);
	while (pg_atomic_read_u32(&shared->started) != slice)
	{
		if (pg_atomic_read_u32(&shared->stop) != 0)
			return;
		pg_usleep(START_POLL_US);
		end_if_told();
	}
	pg_read_barrier();			/* pairs with run_slice() */

	/* It may be over already for who had no CPU all the time. */
	cpu_ns = WscCpuTime();
	while (pg_atomic_read_u32(&shared->running) != 0)
	{
		variant->run(&task);
		end_if_told();
	}

	result->cpu_ns = WscCpuTime() - cpu_ns;
	result->reads = task.reads;
	result->writes = task.writes;
	result->torn = task.torn;
	result->waits = task.waits;
	count_in(shared, &shared->done, shared->clients);
}

/*
 * The segment is gone if the leader has given up before this process came to
 * it.
 */
void
WscBenchWorkerMain(Datum arg)
{
	uint32		wait_event;
	uint32		slice = 0;
	dsm_segment *segment;
	WscBenchShared *shared;
	int			me;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	wait_event = WscNewWaitEvent("PgWaitscopeLockBench");

	memcpy(&me, MyBgworkerEntry->bgw_extra, sizeof(me));
	segment = dsm_attach(DatumGetUInt32(arg));
	if (segment == NULL)
		proc_exit(0);
	shared = dsm_segment_address(segment);
	shared->workers[me].latch = MyLatch;
	count_in(shared, &shared->attached, shared->nworkers);

	while (wait_for_slice(shared, me, &slice, wait_event))
		take_part(shared, me, slice);
	proc_exit(0);
}
