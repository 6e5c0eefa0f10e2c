/*-------------------------------------------------------------------------
 *
 * lock_bench.c
 *	  The benchmark of locks: starts the workers, leads them through slices.
 *
 * 1. The leader prepares lock and counters, gives each worker that is to take
 *	  part the number of the slice, and wakes it.  The others know nothing of
 *	  it, so that they cannot be late.
 * 2. The workers come to the start; the last one wakes the leader.
 * 3. The leader starts the slice, sleeps for its duration, ends it, and
 *	  takes the time between for its length: what it overslept counts.
 * 4. Each worker leaves its results; the last one wakes the leader.
 *
 * Whatever ends the leader, the workers are told to end, and it waits for
 * that; only a killed process ends otherwise, by a restart of the server.
 * A worker that ends by itself is an error in the leader.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"

#include "lock_bench.h"
#include "port/compat.h"
#include "port/timer.h"
#include "port/wait_events.h"
#include "port/worker.h"

#define WORKER_NAME "pg_waitscope lock_bench"

/* The registered lock, and the tranche of the server's one. */
#define LOCK_NAME "pg_waitscope_lock_bench"

#define NS_PER_MS INT64CONST(1000000)

/* The default is to have up to so many clients for each CPU. */
#define CLIENTS_PER_CPU 4

/* A worker that does not come or go is looked after so often. */
#define LOOK_MS 100

typedef struct Leader
{
	WscBenchPlan *plan;
	WscBenchShared *shared;
	dsm_segment *segment;
	BackgroundWorkerHandle **handles;
	int			nworkers;		/* started */
	int			cpus;
	uint32		wait_event;
} Leader;

static int
max_clients(const WscBenchPlan *plan)
{
	int			max = 0;

	for (int i = 0; i < plan->nclients; i++)
		max = Max(max, plan->clients[i]);
	return max;
}

static Size
shared_size(int nworkers)
{
	return add_size(offsetof(WscBenchShared, workers),
					mul_size(sizeof(WscBenchWorker), (Size) nworkers));
}

static void
create_shared(Leader *leader, int nworkers)
{
	WscBenchShared *shared;

	leader->segment = dsm_create(shared_size(nworkers), 0);
	shared = dsm_segment_address(leader->segment);
	memset(shared, 0, shared_size(nworkers));
	shared->leader = MyLatch;
	shared->nworkers = nworkers;
	shared->hold = leader->plan->hold;
	shared->think = leader->plan->think;
	pg_atomic_init_u32(&shared->started, 0);
	pg_atomic_init_u32(&shared->running, 0);
	pg_atomic_init_u32(&shared->stop, 0);
	pg_atomic_init_u32(&shared->attached, 0);
	pg_atomic_init_u32(&shared->ready, 0);
	pg_atomic_init_u32(&shared->done, 0);
	for (int i = 0; i < nworkers; i++)
		pg_atomic_init_u32(&shared->workers[i].slice, 0);
	leader->shared = shared;
}

static bool
start_worker(Leader *leader)
{
	BackgroundWorker worker;

	WscWorkerInit(&worker, WSC_BENCH_WORKER_MAIN, WORKER_NAME);
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	worker.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(leader->segment));
	memcpy(worker.bgw_extra, &leader->nworkers, sizeof(leader->nworkers));
	return RegisterDynamicBackgroundWorker(&worker,
										   &leader->handles[leader->nworkers]);
}

static void
start_workers(Leader *leader, int wanted, bool all)
{
	while (leader->nworkers < wanted && start_worker(leader))
		leader->nworkers++;
	if (leader->nworkers < wanted && (all || leader->nworkers == 0))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too few worker slots for the lock benchmark"),
				 errdetail("%d were wanted, %d could be had.",
						   wanted, leader->nworkers),
				 leader->nworkers > 0 ?
				 errhint("Ask for fewer clients, or raise "
						 "\"max_worker_processes\" and restart the server.") :
				 errhint("Raise \"max_worker_processes\" and restart the "
						 "server, or wait until other workers have ended.")));
	leader->shared->nworkers = leader->nworkers;
}

static void
refuse_dead_workers(const Leader *leader)
{
	for (int i = 0; i < leader->nworkers; i++)
	{
		BgwHandleStatus status;
		pid_t		pid;

		status = GetBackgroundWorkerPid(leader->handles[i], &pid);
		if (status != BGWH_STARTED && status != BGWH_NOT_YET_STARTED)
			ereport(ERROR,
					(errcode(ERRCODE_OPERATOR_INTERVENTION),
					 errmsg("a worker of the lock benchmark has ended"),
					 errhint("The server log may say why.")));
	}
}

static void
sleep_on_latch(const Leader *leader, int64 ms)
{
	int			events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;

	events = WaitLatch(MyLatch, events, (long) ms, leader->wait_event);
	if ((events & WL_LATCH_SET) != 0)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	refuse_dead_workers(leader);
}

static void
wait_for_count(const Leader *leader, pg_atomic_uint32 *counter, int all)
{
	while (pg_atomic_read_u32(counter) != (uint32) all)
		sleep_on_latch(leader, LOOK_MS);
	pg_read_barrier();			/* pairs with count_in() */
}

static void
wake_worker(const WscBenchWorker *worker)
{
	if (worker->latch != NULL)
		SetLatch(worker->latch);
}

/*
 * At the end of all slices, after an error, at exit of the process.  A second
 * cancel does not end the waiting for workers.  A termination after a cancel
 * does: they end by themselves.
 */
static void
end_workers(int code, Datum arg)
{
	Leader	   *leader = (Leader *) DatumGetPointer(arg);

	HOLD_CANCEL_INTERRUPTS();
	pg_atomic_write_u32(&leader->shared->stop, 1);
	pg_atomic_write_u32(&leader->shared->running, 0);
	pg_memory_barrier();
	for (int i = 0; i < leader->nworkers; i++)
		wake_worker(&leader->shared->workers[i]);
	for (int i = 0; i < leader->nworkers; i++)
		(void) WaitForBackgroundWorkerShutdown(leader->handles[i]);
	RESUME_CANCEL_INTERRUPTS();
}

static void
publish_slice(const Leader *leader, const WscBenchCell *cell, uint32 slice)
{
	WscBenchShared *shared = leader->shared;

	cell->variant->init(&shared->lock, LOCK_NAME);
	shared->pair.counters.first = 0;
	shared->pair.counters.second = 0;
	shared->variant = (int) (cell->variant - wsc_lock_variants);
	shared->clients = cell->clients;
	shared->write_pct = cell->write_pct;
	pg_atomic_write_u32(&shared->ready, 0);
	pg_atomic_write_u32(&shared->done, 0);
	pg_write_barrier();			/* pairs with wait_for_slice() */
	for (int i = 0; i < cell->clients; i++)
	{
		pg_atomic_write_u32(&shared->workers[i].slice, slice);
		wake_worker(&shared->workers[i]);
	}
}

/* Returns its length in nanoseconds. */
static int64
run_slice(const Leader *leader, const WscBenchCell *cell)
{
	WscBenchShared *shared = leader->shared;
	uint32		slice = pg_atomic_read_u32(&shared->started) + 1;
	int64		duration_ns = (int64) (leader->plan->duration_ms * NS_PER_MS);
	int64		start_ns;
	int64		now_ns;

	publish_slice(leader, cell, slice);
	wait_for_count(leader, &shared->ready, cell->clients);

	start_ns = WscTimerNow();
	pg_atomic_write_u32(&shared->running, 1);
	pg_write_barrier();			/* pairs with take_part() */
	pg_atomic_write_u32(&shared->started, slice);
	while ((now_ns = WscTimerNow()) < start_ns + duration_ns)
		sleep_on_latch(leader,
					   (start_ns + duration_ns - now_ns) / NS_PER_MS + 1);
	pg_atomic_write_u32(&shared->running, 0);

	wait_for_count(leader, &shared->done, cell->clients);
	return now_ns - start_ns;
}

static void
collect_results(const Leader *leader, WscBenchCell *cell,
				WscBenchRound *round, int64 length_ns)
{
	const WscBenchShared *shared = leader->shared;
	uint64		all = 0;
	uint64		writes = 0;
	uint64		slowest = PG_UINT64_MAX;
	uint64		fastest = 0;
	int64		cpu_ns = 0;

	for (int i = 0; i < cell->clients; i++)
	{
		const WscBenchWorker *worker = &shared->workers[i];
		uint64		ops = worker->reads + worker->writes;

		all += ops;
		writes += worker->writes;
		slowest = Min(slowest, ops);
		fastest = Max(fastest, ops);
		cpu_ns += worker->cpu_ns;
		cell->torn += (int64) worker->torn;
		WscWaitMerge(cell->waits, &worker->waits);
	}
	cell->lost += (int64) (writes - shared->pair.counters.first);
	if (shared->pair.counters.first != shared->pair.counters.second)
		cell->torn++;

	round->ops_per_sec = (double) all * 1e9 / (double) length_ns;
	round->cpu_ms = (double) cpu_ns / NS_PER_MS;
	round->cpu_share = (double) cpu_ns /
		((double) length_ns * Min(cell->clients, leader->cpus));
	round->fairness = fastest > 0 ? (double) slowest / (double) fastest : 0.0;
}

static WscBenchCell *
make_cells(const WscBenchPlan *plan, int *ncells)
{
	WscBenchCell *cells;
	int			n = plan->nvariants * plan->nclients * plan->nwrite_pcts;

	cells = palloc0(sizeof(WscBenchCell) * (Size) n);
	for (int i = 0; i < n; i++)
	{
		WscBenchCell *cell = &cells[i];
		int			row = i / plan->nvariants;

		cell->variant = plan->variants[i % plan->nvariants];
		cell->write_pct = plan->write_pcts[row % plan->nwrite_pcts];
		cell->clients = plan->clients[row / plan->nwrite_pcts];
		cell->why_not = cell->variant->why_not();
		cell->rounds = palloc0(sizeof(WscBenchRound) * (Size) plan->rounds);
		cell->waits = palloc0(sizeof(WscWaitHistogram));
	}
	*ncells = n;
	return cells;
}

/*
 * The variants of a row follow each other at once, so that what changes
 * slowly on the machine meets all of them; every other round they come in
 * reverse order.
 */
static void
run_round(const Leader *leader, WscBenchCell *cells, int ncells, int round)
{
	int			nvariants = leader->plan->nvariants;

	for (int i = 0; i < ncells; i++)
	{
		int			variant = i % nvariants;
		WscBenchCell *cell;

		if (round % 2 == 1)
			variant = nvariants - 1 - variant;
		cell = &cells[i - i % nvariants + variant];
		if (cell->why_not == NULL)
			collect_results(leader, cell, &cell->rounds[round],
							run_slice(leader, cell));
	}
}

/* One client, one for each CPU, all that could be had. */
static void
choose_clients(WscBenchPlan *plan, const Leader *leader)
{
	const int	wanted[] = {1, leader->cpus, leader->nworkers};

	plan->clients = palloc(sizeof(wanted));
	for (int i = 0; i < (int) lengthof(wanted); i++)
	{
		int			clients = Min(wanted[i], leader->nworkers);

		if (plan->nclients == 0 ||
			clients > plan->clients[plan->nclients - 1])
			plan->clients[plan->nclients++] = clients;
	}
}

static WscBenchCell *
lead(Leader *leader, int wanted, int *ncells)
{
	WscBenchPlan *plan = leader->plan;
	bool		choose = plan->nclients == 0;
	WscBenchCell *cells;

	start_workers(leader, wanted, !choose);
	if (choose)
		choose_clients(plan, leader);
	cells = make_cells(plan, ncells);
	wait_for_count(leader, &leader->shared->attached, leader->nworkers);
	for (int round = 0; round < plan->rounds; round++)
		run_round(leader, cells, *ncells, round);
	return cells;
}

/* The same, and whatever happens, the workers have ended afterwards. */
static WscBenchCell *
lead_and_end(Leader *leader, int wanted, int *ncells)
{
	WscBenchCell *cells;

	PG_ENSURE_ERROR_CLEANUP(end_workers, PointerGetDatum(leader));
	{
		cells = lead(leader, wanted, ncells);
	}
	PG_END_ENSURE_ERROR_CLEANUP(end_workers, PointerGetDatum(leader));
	end_workers(0, PointerGetDatum(leader));
	return cells;
}

WscBenchCell *
WscBenchRun(WscBenchPlan *plan, int *ncells)
{
	Leader		leader;
	WscBenchCell *cells;
	int			wanted;

	memset(&leader, 0, sizeof(leader));
	leader.plan = plan;
	leader.cpus = (int) sysconf(_SC_NPROCESSORS_ONLN);
	leader.wait_event = WscNewWaitEvent("PgWaitscopeLockBench");
	wanted = plan->nclients > 0 ? max_clients(plan) :
		Min(leader.cpus * CLIENTS_PER_CPU, max_worker_processes);
	wanted = Max(wanted, 1);
	leader.handles = palloc0(sizeof(BackgroundWorkerHandle *) * (Size) wanted);
	create_shared(&leader, wanted);
	cells = lead_and_end(&leader, wanted, ncells);
	dsm_detach(leader.segment);
	return cells;
}
