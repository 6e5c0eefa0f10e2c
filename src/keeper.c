/*-------------------------------------------------------------------------
 *
 * keeper.c
 *	  Background worker for what takes too long for the sampler.
 *
 * One thing is: which blocks are waited for by those that wait for buffer
 * content.
 *
 * 1. The keeper sets call to CALL_WANTED and sleeps.
 * 2. The sampler adds up, tick by tick, the time of the processes that wait
 *	  for buffer content.  In a tick that has some, and if it is wanted, it sets
 *	  call to CALL_MADE and the keeper's latch.
 * 3. The keeper looks for the blocks at once, that is, at an instant as random
 *	  as the sampler's.  The time that was added up since its last look belongs
 *	  to the waiters that it found, in equal parts.
 * 4. It sleeps, with call at CALL_IDLE, for as long as the setting
 *	  hot_block_cpu_pct demands, and goes on with 1.
 *
 * So the keeper sleeps while nobody waits, and all time that the sampler has
 * counted as waits for buffer content is accounted for: what cannot be said to
 * belong to a block is added to the "other" row of the store.
 *
 * The other thing: who keeps those waiting that wait for heavyweight locks.
 * For that the keeper is called in the same way, in a tick that finds such a
 * wait that is some milliseconds old, but not more often than BLOCKERS_NS
 * allows.
 *
 * Nobody waits for the keeper, and it takes no lock.  A latch that is set for
 * one that has gone is another process's by then, which may be woken for
 * nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "keeper.h"
#include "guc.h"
#include "port/lock_compat.h"
#include "port/procarray.h"
#include "port/timer.h"
#include "port/wait_events.h"
#include "port/worker.h"
#include "sample/buffer_scan.h"
#include "store/blockers.h"
#include "store/hotblocks.h"
#include "store/store.h"
#include "worker_life.h"

#define NS_PER_MS INT64CONST(1000000)

/* A look at the buffers takes no longer than this, or not much. */
#define LOOK_NS NS_PER_MS

/* From one look at who blocks whom to the next. */
#define BLOCKERS_NS (100 * NS_PER_MS)

/* How old time may be that is said to belong to what is seen now. */
#define OLDEST_NS (1000 * NS_PER_MS)

enum
{
	CALL_IDLE,
	CALL_WANTED,
	CALL_MADE
};

/* Each field is read and written as a whole, by any process. */
typedef struct WscKeeperShared
{
	/* Written by the keeper. */
	pg_atomic_uint32 pid;
	pg_atomic_uint32 slot;		/* in the process array, once pid was set */
	pg_atomic_uint64 starts;
	pg_atomic_uint64 cpu_ns;
	pg_atomic_uint64 alive_ns;
	pg_atomic_uint64 placed_ns; /* of waited_ns, what is in the store */

	/* Written by the sampler. */
	pg_atomic_uint64 waited_ns;
	pg_atomic_uint64 called_ns; /* when the last call was made */

	/* CALL_*: WANTED to MADE by the sampler, the rest by the keeper. */
	pg_atomic_uint32 call;
	pg_atomic_uint32 blocked_call;
} WscKeeperShared;

/* The worker's private state. */
typedef struct Keeper
{
	WscBufferScanner *scanner;
	WscTimer   *timer;
	int64		cpu_base_ns;	/* CPU time of earlier processes */
	int64		cpu_ns;			/* of this one, when last published */
	int64		charged_ns;		/* of it, what pauses have been made for */
	int64		next_look_ns;	/* no look before; 0: now */
	int64		empty_since_ns; /* looks found nothing since; 0: they did */

	WscBlockerLooker *looker;
	int64		next_blockers_ns;	/* no look at blockers before */
} Keeper;

static WscKeeperShared *shared;

extern PGDLLEXPORT void WscKeeperMain(Datum arg);

Size
WscKeeperSize(void)
{
	return sizeof(WscKeeperShared);
}

void
WscKeeperAttach(void *mem, bool found)
{
	shared = (WscKeeperShared *) mem;
	if (found)
		return;
	pg_atomic_init_u32(&shared->pid, 0);
	pg_atomic_init_u32(&shared->slot, 0);
	pg_atomic_init_u64(&shared->starts, 0);
	pg_atomic_init_u64(&shared->cpu_ns, 0);
	pg_atomic_init_u64(&shared->alive_ns, 0);
	pg_atomic_init_u64(&shared->placed_ns, 0);
	pg_atomic_init_u64(&shared->waited_ns, 0);
	pg_atomic_init_u64(&shared->called_ns, 0);
	pg_atomic_init_u32(&shared->call, CALL_IDLE);
	pg_atomic_init_u32(&shared->blocked_call, CALL_IDLE);
}

int
WscKeeperPid(void)
{
	return (int) pg_atomic_read_u32(&shared->pid);
}

void
WscKeeperRead(WscKeeperStatus *status)
{
	status->pid = WscKeeperPid();
	status->starts = (int64) pg_atomic_read_u64(&shared->starts);
	status->cpu_ns = (int64) pg_atomic_read_u64(&shared->cpu_ns);
	status->alive_ns = (int64) pg_atomic_read_u64(&shared->alive_ns);
}

/* By the sampler, if the call is wanted. */
static void
make_call(pg_atomic_uint32 *call)
{
	uint32		slot;

	if (pg_atomic_read_u32(call) != CALL_WANTED)
		return;
	pg_write_barrier();			/* what the call is about before the call;
								 * pairs with answer_call() and
								 * tend_blockers() */
	pg_atomic_write_u32(call, CALL_MADE);
	slot = pg_atomic_read_u32(&shared->slot);
	SetLatch(&WscSlot((int) slot)->procLatch);
}

void
WscKeeperTellBlocked(void)
{
	if (wsc_track_blockers)
		make_call(&shared->blocked_call);
}

void
WscKeeperTell(const WscTick *tick, const WscSample *samples, int n)
{
	int64		waiters = 0;

	if (!wsc_hot_blocks)
		return;
	for (int i = 0; i < n; i++)
		if (WscIsCounted(&samples[i]) &&
			WscWaitIsBufferContent(samples[i].wait_event_info))
			waiters++;
	if (waiters == 0)
		return;

	pg_atomic_write_u64(&shared->waited_ns,
						pg_atomic_read_u64(&shared->waited_ns) +
						(uint64) (waiters * tick->weight_ns));
	if (pg_atomic_read_u32(&shared->call) == CALL_WANTED)
		pg_atomic_write_u64(&shared->called_ns, (uint64) tick->mono_ns);
	make_call(&shared->call);
}

/* Puts time that was waited into the store, for waiters or none. */
static void
place_time(int64 time_ns, const WscBufferLook *look)
{
	int64		each_ns = 0;
	int64		rest_ns = time_ns;

	if (look->found > 0 && look->complete)
	{
		/* If fewer than waited, the others have got their lock meanwhile. */
		each_ns = time_ns / look->found;
		rest_ns = 0;
	}
	else if (look->found > 0)
	{
		each_ns = time_ns / look->waiting;
		rest_ns = time_ns - each_ns * look->found;
	}
	WscHotBlocksAdd(GetCurrentTimestamp(), look->waits, look->n, each_ns,
					rest_ns);
	pg_atomic_write_u64(&shared->placed_ns,
						pg_atomic_read_u64(&shared->placed_ns) +
						(uint64) time_ns);
}

static int64
get_unplaced_time(void)
{
	return (int64) (pg_atomic_read_u64(&shared->waited_ns) -
					pg_atomic_read_u64(&shared->placed_ns));
}

/*
 * Time of waits that nobody has seen the block of, or that are too long ago
 * for what is seen now to tell anything of them.
 */
static void
give_up_time(Keeper *keeper)
{
	static const WscBufferLook nothing;
	int64		time_ns = get_unplaced_time();

	keeper->empty_since_ns = 0;
	if (time_ns > 0)
		place_time(time_ns, &nothing);
}

/*
 * Waits are short: a look that comes a moment later may find none, and its
 * time is left for the next one, but not for long.
 */
static void
look_at_buffers(Keeper *keeper, int64 now_ns)
{
	int64		time_ns = get_unplaced_time();
	WscBufferLook look;

	WscBufferScan(keeper->scanner, LOOK_NS, &look);
	if (look.found > 0)
	{
		keeper->empty_since_ns = 0;
		place_time(time_ns, &look);
		return;
	}
	if (keeper->empty_since_ns == 0)
		keeper->empty_since_ns = now_ns;
	if (now_ns - keeper->empty_since_ns > OLDEST_NS)
		give_up_time(keeper);
}

/* Step 3. */
static void
answer_call(Keeper *keeper, int64 now_ns)
{
	pg_read_barrier();			/* the call before what it is about; pairs
								 * with make_call() */
	pg_atomic_write_u32(&shared->call, CALL_IDLE);

	/* What it finds after standing still has nothing to do with that time. */
	if (now_ns - (int64) pg_atomic_read_u64(&shared->called_ns) > OLDEST_NS)
		give_up_time(keeper);
	else
		look_at_buffers(keeper, now_ns);
}

static void
publish_cpu_time(Keeper *keeper)
{
	keeper->cpu_ns = WscCpuTime();
	pg_atomic_write_u64(&shared->cpu_ns,
						(uint64) (keeper->cpu_base_ns + keeper->cpu_ns));
}

/* Step 4: all CPU time since the last pause, wake-ups included. */
static void
plan_pause(Keeper *keeper, int64 now_ns)
{
	int64		cost_ns = keeper->cpu_ns - keeper->charged_ns;

	keeper->charged_ns = keeper->cpu_ns;
	keeper->next_look_ns = now_ns +
		(int64) rint((double) cost_ns * 100.0 / wsc_hot_block_cpu_pct);
}

/* Whatever has woken the keeper: is there something to do? */
static void
tend_hot_blocks(Keeper *keeper, int64 now_ns)
{
	uint32		call = pg_atomic_read_u32(&shared->call);

	if (call == CALL_MADE)
	{
		answer_call(keeper, now_ns);
		publish_cpu_time(keeper);
		plan_pause(keeper, now_ns);
	}
	else if (call == CALL_IDLE && wsc_hot_blocks &&
			 now_ns >= keeper->next_look_ns)
	{
		/* It has stood still, or just started, or was switched on. */
		if (now_ns >= keeper->next_look_ns + OLDEST_NS)
			give_up_time(keeper);
		pg_atomic_write_u32(&shared->call, CALL_WANTED);
	}
	else if (call == CALL_WANTED &&
			 now_ns >= keeper->next_look_ns + OLDEST_NS)
		give_up_time(keeper);	/* nobody has waited for long */
}

/*
 * The same for blockers.  A look is short, and has no part in the budget of
 * the others.
 */
static void
tend_blockers(Keeper *keeper, int64 now_ns)
{
	uint32		call = pg_atomic_read_u32(&shared->blocked_call);
	int64		before_ns;

	if (call == CALL_MADE)
	{
		pg_read_barrier();		/* as in answer_call() */
		publish_cpu_time(keeper);
		before_ns = keeper->cpu_ns;
		pg_atomic_write_u32(&shared->blocked_call, CALL_IDLE);
		WscBlockersLook(keeper->looker, LOOK_NS);
		keeper->next_blockers_ns = now_ns + BLOCKERS_NS;
		publish_cpu_time(keeper);
		keeper->charged_ns += keeper->cpu_ns - before_ns;
	}
	else if (call == CALL_IDLE && wsc_track_blockers &&
			 now_ns >= keeper->next_blockers_ns)
		pg_atomic_write_u32(&shared->blocked_call, CALL_WANTED);
}

/* When the keeper is to wake up if nobody wakes it. */
static int64
find_next_time(const Keeper *keeper, int64 now_ns)
{
	int64		next_ns = now_ns + WSC_KEEPER_NAP_MS * NS_PER_MS;

	if (pg_atomic_read_u32(&shared->call) == CALL_IDLE && wsc_hot_blocks)
		next_ns = Min(next_ns, keeper->next_look_ns);
	if (pg_atomic_read_u32(&shared->blocked_call) == CALL_IDLE &&
		wsc_track_blockers)
		next_ns = Min(next_ns, keeper->next_blockers_ns);
	return next_ns;
}

static void
run_keeper(Keeper *keeper)
{
	uint32		wait_event = WscNewWaitEvent("PgWaitscopeKeeper");
	bool		reloaded;

	do
	{
		int64		now_ns = WscTimerNow();

		pg_atomic_write_u64(&shared->alive_ns, (uint64) now_ns);
		tend_blockers(keeper, now_ns);
		tend_hot_blocks(keeper, now_ns);
		publish_cpu_time(keeper);
		WscTimerWait(keeper->timer, find_next_time(keeper, now_ns),
					 wait_event);
	} while (WscWorkerGoesOn(&reloaded));
}

/* Also when an error or a signal ends the process. */
static void
publish_end(int code, Datum arg)
{
	Keeper	   *keeper = (Keeper *) DatumGetPointer(arg);

	pg_atomic_write_u32(&shared->call, CALL_IDLE);
	pg_atomic_write_u32(&shared->blocked_call, CALL_IDLE);
	publish_cpu_time(keeper);
	pg_atomic_write_u32(&shared->pid, 0);
}

static Keeper *
start_keeper(void)
{
	Keeper	   *keeper = palloc0(sizeof(Keeper));

	keeper->scanner = WscBufferScannerCreate();
	keeper->looker = WscBlockerLookerCreate();
	keeper->timer = WscTimerCreate();
	keeper->cpu_base_ns = (int64) pg_atomic_read_u64(&shared->cpu_ns);
	publish_cpu_time(keeper);
	keeper->charged_ns = keeper->cpu_ns;

	pg_atomic_write_u32(&shared->call, CALL_IDLE);
	pg_atomic_write_u32(&shared->blocked_call, CALL_IDLE);
	pg_atomic_write_u32(&shared->slot, (uint32) WscMyProcNumber());
	pg_atomic_write_u64(&shared->starts,
						pg_atomic_read_u64(&shared->starts) + 1);
	pg_atomic_write_u64(&shared->alive_ns, (uint64) WscTimerNow());
	pg_atomic_write_u32(&shared->pid, (uint32) MyProcPid);
	return keeper;
}

void
WscKeeperMain(Datum arg)
{
	Keeper	   *keeper;

	WscWorkerBegin();
	keeper = start_keeper();
	on_shmem_exit(publish_end, PointerGetDatum(keeper));
	run_keeper(keeper);
	WscWorkerEnd();
}

void
WscKeeperRegister(void)
{
	WscWorkerRegister("pg_waitscope keeper", "WscKeeperMain");
}
