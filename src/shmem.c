/*-------------------------------------------------------------------------
 *
 * shmem.c
 *	  The shared memory of the extension: one table of regions.
 *
 * Each line of the table is one allocation; what is asked for at server
 * start is computed by the same function as what is allocated later.  The
 * order matters only in that the own locks come first, since others put
 * locks into their regions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>
#include <unistd.h>

#include "utils/timestamp.h"

#include "shmem.h"
#include "guc.h"
#include "keeper.h"
#include "lock/fmlock.h"
#include "lock/lockstat.h"
#include "port/shmem_compat.h"
#include "sample/heavy_waits.h"
#include "sampler.h"
#include "store/blockers.h"
#include "store/eventdict.h"
#include "store/events.h"
#include "store/hotblocks.h"
#include "store/instances.h"
#include "store/lockhistory.h"
#include "store/lockwaits.h"
#include "store/lwlocks.h"
#include "store/profile.h"
#include "store/ring.h"
#include "store/runs.h"

/* Written once, by the process that makes the shared memory. */
typedef struct WscControl
{
	int64		epoch;
} WscControl;

static WscControl *control;

/*
 * A tick must fit into the ring a few times over, however small the ring and
 * however many processes.
 */
static int64
ring_slots(void)
{
	int64		slot_size = sizeof(WscSample);
	int64		wanted = (int64) wsc_history_size * 1024 / slot_size;
	int64		least = 4 * ((int64) WscMaxProcs() + 1);

	return Max(wanted, least);
}

static Size
lock_size(void)
{
	return FmLockShmemSize(WscMaxProcs());
}

static void
attach_locks(void *mem, bool found)
{
	FmLockShmemAttach(mem, WscMaxProcs(), found);
}

static void
lock_info(WscStoreInfo *info)
{
	info->entries = LockStatCount();
	info->max_entries = LOCKSTAT_MAX_LOCKS;
	info->span_ns = -1;
	info->evictions = -1;
	info->overwritten = -1;
	info->stats_reset = LockStatResetTime();
}

static Size
ring_size(void)
{
	return WscRingSize(ring_slots());
}

static void
attach_ring(void *mem, bool found)
{
	WscRingAttach(mem, ring_slots(), found);
}

static Size
profile_size(void)
{
	return WscProfileSize(wsc_profile_max);
}

static void
attach_profile(void *mem, bool found)
{
	WscProfileAttach(mem, wsc_profile_max, wsc_profile_by, found);
}

static void
attach_lock_waits(void *mem, bool found)
{
	WscLockWaitsAttach(WSC_LOCK_WAITS, mem, found);
}

static void
attach_lock_blockers(void *mem, bool found)
{
	WscLockWaitsAttach(WSC_LOCK_BLOCKERS, mem, found);
}

static void
lock_waits_info(WscStoreInfo *info)
{
	WscLockWaitsInfo(WSC_LOCK_WAITS, info);
}

static void
lock_blockers_info(WscStoreInfo *info)
{
	WscLockWaitsInfo(WSC_LOCK_BLOCKERS, info);
}

static void
reset_lock_waits(TimestampTz now)
{
	WscLockWaitsReset(WSC_LOCK_WAITS, now);
}

static void
reset_lock_blockers(TimestampTz now)
{
	WscLockWaitsReset(WSC_LOCK_BLOCKERS, now);
}

static Size
control_size(void)
{
	return sizeof(WscControl);
}

static void
attach_control(void *mem, bool found)
{
	control = (WscControl *) mem;
	if (!found)
		control->epoch = GetCurrentTimestamp();
}

const WscRegion wsc_regions[] =
{
	{"fmlocks", "pg_waitscope locks",
	lock_size, attach_locks, lock_info, LockStatReset},
	{"control", "pg_waitscope control",
	control_size, attach_control, NULL, NULL},
	{"sampler", "pg_waitscope sampler",
	WscSamplerSize, WscSamplerAttach, NULL, NULL},
	{"keeper", "pg_waitscope keeper",
	WscKeeperSize, WscKeeperAttach, NULL, NULL},
	{"event_names", "pg_waitscope event names",
	WscEventDictSize, WscEventDictAttach, NULL, NULL},
	{"history", "pg_waitscope history",
	ring_size, attach_ring, WscRingInfo, WscRingReset},
	{"events", "pg_waitscope events",
	WscEventsSize, WscEventsAttach, WscEventsInfo, WscEventsReset},
	{"profile", "pg_waitscope profile",
	profile_size, attach_profile, WscProfileInfo, WscProfileReset},
	{"lwlocks", "pg_waitscope lwlocks",
	WscLWLocksSize, WscLWLocksAttach, WscLWLocksInfo, WscLWLocksReset},
	{"lwlock_instances", "pg_waitscope lwlock instances",
	WscInstancesSize, WscInstancesAttach, WscInstancesInfo, WscInstancesReset},
	{"wait_lengths", "pg_waitscope wait lengths",
	WscRunsSize, WscRunsAttach, WscRunsInfo, WscRunsReset},
	{"current_lock_waits", "pg_waitscope current lock waits",
	WscHeavyWaitsSize, WscHeavyWaitsAttach, NULL, NULL},
	{"current_blockers", "pg_waitscope current blockers",
	WscBlockersSize, WscBlockersAttach, NULL, NULL},
	{"lock_waits", "pg_waitscope lock waits",
	WscLockWaitsSize, attach_lock_waits, lock_waits_info, reset_lock_waits},
	{"lock_blockers", "pg_waitscope lock blockers",
		WscLockWaitsSize, attach_lock_blockers, lock_blockers_info,
	reset_lock_blockers},
	{"lock_wait_history", "pg_waitscope lock wait history",
		WscLockHistorySize, WscLockHistoryAttach, WscLockHistoryInfo,
	WscLockHistoryReset},
	{"hot_blocks", "pg_waitscope hot blocks",
	WscHotBlocksSize, WscHotBlocksAttach, WscHotBlocksInfo, WscHotBlocksReset},
};

const int	wsc_num_regions = lengthof(wsc_regions);

/*
 * Memory that a mapping of the server could ever get: the machine's, or the
 * limit set on the address space.
 */
static uint64
available_memory(void)
{
	uint64		memory = PG_UINT64_MAX;
	long		pages = sysconf(_SC_PHYS_PAGES);
	long		page_size = sysconf(_SC_PAGESIZE);
	struct rlimit limit;

	if (pages > 0 && page_size > 0)
		memory = (uint64) pages * (uint64) page_size;
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		memory = Min(memory, (uint64) limit.rlim_cur);
	return memory;
}

/*
 * Without this check the server would fail to start with a message about its
 * own settings, or start and be killed later for want of memory.
 */
static void
check_total_size(Size total)
{
	const Size	mega = (Size) 1024 * 1024;
	bool		ring = ring_size() >= profile_size();
	uint64		memory = available_memory();

	if ((uint64) total <= memory)
		return;
	ereport(FATAL,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("pg_waitscope needs more shared memory than this machine "
					"has"),
			 errdetail("The settings ask for %zu MB, available are "
					   UINT64_FORMAT " MB.", total / mega, memory / mega),
			 errhint("Reduce \"%s\".", ring ? "pg_waitscope.history_size" :
					 "pg_waitscope.profile_max")));
}

static void
request_regions(void)
{
	Size		total = 0;

	for (int i = 0; i < wsc_num_regions; i++)
		total = add_size(total, CACHELINEALIGN(wsc_regions[i].size()));
	check_total_size(total);
	RequestAddinShmemSpace(total);
}

static void
attach_regions(void)
{
	for (int i = 0; i < wsc_num_regions; i++)
	{
		bool		found;
		void	   *mem = ShmemInitStruct(wsc_regions[i].shmem_name,
										  wsc_regions[i].size(), &found);

		wsc_regions[i].attach(mem, found);
	}
}

void
WscShmemInit(void)
{
	WscInstallShmemHooks(request_regions, attach_regions);
}

bool
WscShmemAttached(void)
{
	return control != NULL;
}

int64
WscShmemEpoch(void)
{
	return control->epoch;
}
