/*-------------------------------------------------------------------------
 *
 * sampler.c
 *	  Background worker that samples: sleep, scan, add to each store.
 *
 * The worker takes no lock of any kind and waits for nothing but its timer
 * and its latch.  Stopped at any point, only its own data suffers.  It ends
 * with exit code 1 whatever ended it, so that the postmaster starts it again
 * a second later; what it knew lies in shared memory and lives on.
 *
 * WscSamplerShared is written by the worker only, under a change counter (see
 * store.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "sampler.h"
#include "guc.h"
#include "keeper.h"
#include "port/compat.h"
#include "port/timer.h"
#include "port/wait_events.h"
#include "port/worker.h"
#include "sample/grid.h"
#include "sample/heavy_waits.h"
#include "sample/lock_walk.h"
#include "sample/scan.h"
#include "store/blockers.h"
#include "store/eventdict.h"
#include "store/events.h"
#include "store/instances.h"
#include "store/lockhistory.h"
#include "store/lockwaits.h"
#include "store/lwlocks.h"
#include "store/profile.h"
#include "store/ring.h"
#include "store/runs.h"
#include "store/store.h"
#include "worker_life.h"

typedef struct WscSamplerShared
{
	pg_atomic_uint32 changes;	/* odd while status changes */
	WscSamplerStatus status;
} WscSamplerShared;

/* The worker's private state. */
typedef struct Sampler
{
	WscTimer   *timer;
	WscScanner *scanner;
	WscScanOptions options;
	WscSample  *samples;
	WscLockWalker *walker;
	WscLockWait *lock_waits;	/* one per sample */
	WscHeavyFollower *follower;
	WscGrid		grid;
	bool		sampling;

	/* Which ticks go to the history: one of each history_cells cells. */
	int64		history_cells;
	int64		history_last;	/* history cell stored last; -1: none */
	int64		history_drawn;	/* history cell the draw is for; -1: none */
	int64		history_cell;	/* sample cell drawn in it */

	int64		cpu_base_ns;	/* CPU time of earlier processes */
	int64		cpu_read_ns;	/* when CPU time was read last */
} Sampler;

static WscSamplerShared *shared;

extern PGDLLEXPORT void WscSamplerMain(Datum arg);

Size
WscSamplerSize(void)
{
	return sizeof(WscSamplerShared);
}

void
WscSamplerAttach(void *mem, bool found)
{
	shared = (WscSamplerShared *) mem;
	if (found)
		return;
	memset(&shared->status, 0, sizeof(shared->status));
	pg_atomic_init_u32(&shared->changes, 0);
}

bool
WscSamplerRead(WscSamplerStatus *status)
{
	int			tries = 0;

	do
	{
		uint32		before;

		if (!WscBeginRead(&shared->changes, &before))
			continue;
		*status = shared->status;
		if (WscEndRead(&shared->changes, before))
			return true;
	} while (WscReadAgain(&tries));
	return false;
}

/* Takes over the settings; a change of the grid starts it anew. */
static void
apply_settings(Sampler *sampler)
{
	int64		period_ns = (int64) rint(wsc_sample_period * 1000000.0);
	int64		history_ns = (int64) wsc_history_period * 1000000;
	int64		history_cells;

	history_cells = Max((history_ns + period_ns / 2) / period_ns, 1);
	if (!sampler->sampling ||
		sampler->grid.period_ns != period_ns ||
		sampler->grid.jitter != wsc_jitter)
	{
		int64		now = WscTimerNow();

		WscGridStart(&sampler->grid, period_ns, wsc_jitter,
					 (uint64) now ^ ((uint64) MyProcPid << 32), now);
		sampler->history_cells = 0;
	}
	if (sampler->history_cells != history_cells)
	{
		sampler->history_cells = history_cells;
		sampler->history_last = -1;
		sampler->history_drawn = -1;
	}
	sampler->sampling = wsc_sampling;
	sampler->options.idle = wsc_track_idle;

	WscBeginChange(&shared->changes);
	shared->status.sampling = wsc_sampling;
	shared->status.period_ns = period_ns;
	WscEndChange(&shared->changes);
}

/*
 * Is this tick the one its history period is to keep?  Of each history
 * period one sample cell is drawn; the first tick not before it is kept.
 * Drawing a cell, not an instant, gives every tick the same chance.  The
 * weight counts whole history periods, as WscGridTake() counts cells.
 */
static bool
choose_for_history(Sampler *sampler, int64 cell, int64 *weight_ns)
{
	int64		number = cell / sampler->history_cells;
	int64		periods = 1;

	if (number == sampler->history_last)
		return false;
	if (number != sampler->history_drawn)
	{
		sampler->history_drawn = number;
		sampler->history_cell = number * sampler->history_cells +
			(int64) WscRandom(&sampler->grid.seed,
							  (uint64) sampler->history_cells);
	}
	if (cell < sampler->history_cell)
		return false;

	if (sampler->history_last >= 0)
		periods = Min(number - sampler->history_last, WSC_MAX_WEIGHT_CELLS);
	sampler->history_last = number;
	*weight_ns = periods * sampler->history_cells * sampler->grid.period_ns;
	return true;
}

/* CPU time costs a system call: about once a second is enough. */
static void
publish_tick(Sampler *sampler, const WscGridTick *grid_tick,
			 const WscTick *tick)
{
	WscSamplerStatus *status = &shared->status;
	int64		cpu_ns = -1;

	if (tick->mono_ns - sampler->cpu_read_ns > INT64CONST(1000000000))
	{
		cpu_ns = sampler->cpu_base_ns + WscCpuTime();
		sampler->cpu_read_ns = tick->mono_ns;
	}

	WscBeginChange(&shared->changes);
	status->ticks++;
	status->ticks_missed += grid_tick->missed;
	status->max_lateness_ns = Max(status->max_lateness_ns,
								  grid_tick->lateness_ns);
	status->covered_ns += grid_tick->weight_ns;
	if (cpu_ns >= 0)
		status->cpu_ns = cpu_ns;
	for (int i = 0; i < WSC_NUM_STATE_CLASSES; i++)
		status->class_samples[i] += tick->counts[i];
	status->last_tick_at = tick->sampled_at;
	status->scan_delay_ticks = WscScannerDelay(sampler->scanner);
	WscEndChange(&shared->changes);
}

static void
take_tick(Sampler *sampler, const WscGridTick *grid_tick, int64 now_ns)
{
	WscSample  *samples = sampler->samples;
	WscHeavyWait *ended;
	WscTick		tick;
	int			n;
	int			num_ended;

	tick.sampled_at = GetCurrentTimestamp();
	tick.mono_ns = now_ns;
	tick.weight_ns = grid_tick->weight_ns;

	/* Like the sampler itself, the keeper is nobody's load. */
	sampler->options.skip_pid = WscKeeperPid();
	n = WscScan(sampler->scanner, &sampler->options, samples, tick.counts);
	if (wsc_lwlock_instances)
		WscLockWalk(sampler->walker, samples, n, sampler->lock_waits);
	for (int i = 0; i < n; i++)
		samples[i].event = WscEventDictId(samples[i].wait_event_info);
	num_ended = WscHeavyWaitsFollow(sampler->follower, &tick, samples,
									WscScanStarts(sampler->scanner), n,
									&ended);
	for (int i = 0; i < num_ended; i++)
		WscBlockersGet(&ended[i]);

	WscEventsAdd(&tick, samples, n);
	WscProfileAdd(&tick, samples, n);
	WscLWLocksAdd(&tick, samples, n);
	WscRunsAdd(&tick, samples, n);
	if (wsc_lwlock_instances)
		WscInstancesAdd(&tick, samples, sampler->lock_waits, n);
	WscLockWaitsAdd(&tick, samples, n, ended, num_ended);
	WscLockHistoryAdd(&tick, ended, num_ended);
	publish_tick(sampler, grid_tick, &tick);
	WscKeeperTell(&tick, samples, n);
	if (WscHeavyAnySince(sampler->follower, now_ns - WSC_BLOCKED_NS))
		WscKeeperTellBlocked();

	if (choose_for_history(sampler, grid_tick->cell, &tick.weight_ns))
		WscRingAdd(&tick, samples, n);
}

static Sampler *
start_sampler(void)
{
	Sampler    *sampler = palloc0(sizeof(Sampler));
	const char *problem;

	sampler->scanner = WscScannerCreate();
	sampler->samples = palloc0(sizeof(WscSample) *
							   (Size) WscScannerSlots(sampler->scanner));
	sampler->walker = WscLockWalkerCreate();
	sampler->lock_waits = palloc0(sizeof(WscLockWait) *
								  (Size) WscScannerSlots(sampler->scanner));
	sampler->follower = WscHeavyFollowerCreate();
	sampler->timer = WscTimerCreate();
	sampler->cpu_base_ns = shared->status.cpu_ns;

	problem = WscScannerStatusProblem(sampler->scanner);
	WscBeginChange(&shared->changes);
	shared->status.pid = MyProcPid;
	shared->status.started_at = GetCurrentTimestamp();
	shared->status.starts++;
	strlcpy(shared->status.status_problem, problem ? problem : "",
			sizeof(shared->status.status_problem));
	strlcpy(shared->status.walk_problem, WscLockWalkerProblem(sampler->walker),
			sizeof(shared->status.walk_problem));
	WscEndChange(&shared->changes);
	apply_settings(sampler);
	return sampler;
}

/* Also when an error or a signal ends the process. */
static void
publish_end(int code, Datum arg)
{
	Sampler    *sampler = (Sampler *) DatumGetPointer(arg);

	WscBeginChange(&shared->changes);
	shared->status.pid = 0;
	shared->status.cpu_ns = sampler->cpu_base_ns + WscCpuTime();
	WscEndChange(&shared->changes);
}

static void
run_sampler(Sampler *sampler)
{
	uint32		wait_event = WscNewWaitEvent("PgWaitscopeSampler");

	for (;;)
	{
		WscGridTick grid_tick;
		int64		now_ns;
		bool		reloaded;

		WscTimerWait(sampler->timer,
					 sampler->sampling ? sampler->grid.next_ns : -1,
					 wait_event);
		if (!WscWorkerGoesOn(&reloaded))
			return;
		if (reloaded)
			apply_settings(sampler);
		if (!sampler->sampling)
			continue;
		now_ns = WscTimerNow();
		if (WscGridTake(&sampler->grid, now_ns, &grid_tick))
			take_tick(sampler, &grid_tick, now_ns);
	}
}

void
WscSamplerMain(Datum arg)
{
	Sampler    *sampler;

	WscWorkerBegin();
	sampler = start_sampler();
	on_shmem_exit(publish_end, PointerGetDatum(sampler));
	run_sampler(sampler);
	WscWorkerEnd();
}

void
WscSamplerRegister(void)
{
	WscWorkerRegister("pg_waitscope sampler", "WscSamplerMain");
}
