/*-------------------------------------------------------------------------
 *
 * synthetic.c
 *	  Scans a process array that exists in this backend only.
 *
 * Its slots, status entries and locks are pieces of memory of their own, as
 * long as they need to be, so that an address sanitizer sees each access
 * beyond them.  They are filled with random bytes; then what a live server
 * guarantees is set: pointers lead to something or are NULL, a pid is a pid.
 * All else, links of free lists and indexes among it, may hold anything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "port/wait_events.h"
#include "sample/grid.h"
#include "sample/scan.h"
#include "scan_test.h"

/* Slots of auxiliary processes, which are the last ones. */
#define AUXILIARY 4

extern PGDLLEXPORT Datum wsc_test_synthetic(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(wsc_test_synthetic);

typedef struct World
{
	uint64		seed;
	int			num_slots;
	PROC_HDR   *header;
	PGPROC	   *procs;
	PgBackendStatus *entries;
	LOCK	   *lock;
	WscStatusArray status;
	WscSample  *samples;
	uint32		counts[WSC_NUM_STATE_CLASSES];
} World;

/* What the server's variables point to otherwise. */
static PROC_HDR *real_header;
static int	real_max_backends;

static void *
allocate(Size size)
{
	void	   *mem = malloc(size);

	if (mem == NULL)
		elog(ERROR, "out of memory");
	return mem;
}

static void
scramble(World *world, void *mem, Size size)
{
	for (Size i = 0; i < size; i++)
		((uint8 *) mem)[i] = (uint8) WscRandom(&world->seed, 256);
}

static bool
toss(World *world, int one_in)
{
	return WscRandom(&world->seed, one_in) == 0;
}

/* One of the slots, or near to one, or nowhere. */
static void *
draw_link(World *world)
{
	char	   *link = (char *) world->procs;

	link += WscRandom(&world->seed, (world->num_slots + 2) *
					  (int64) sizeof(PGPROC)) - (int64) sizeof(PGPROC);
	return toss(world, 10) ? NULL : link;
}

/*
 * The head of a free list is a pointer, or two of which the second is the
 * next one, by version.
 */
#define SET_HEAD(world, list) \
	(((void **) &(list))[sizeof(list) / sizeof(void *) - 1] = \
	 draw_link(world))

static uint32
draw_event(World *world)
{
	static const uint32 classes[] = {
		0, PG_WAIT_LWLOCK, PG_WAIT_LOCK, PG_WAIT_ACTIVITY, PG_WAIT_CLIENT,
		PG_WAIT_EXTENSION, PG_WAIT_IO, 0x7F000000U
	};
	uint32		event = classes[WscRandom(&world->seed, lengthof(classes))];

	if (event != 0)
		event |= (uint32) WscRandom(&world->seed, 20);
	return event;
}

static void
fill_slot(World *world, int slot)
{
	PGPROC	   *proc = &world->procs[slot];
	PgBackendStatus *entry = &world->entries[slot];

	scramble(world, proc, sizeof(*proc));
	scramble(world, entry, sizeof(*entry));
	proc->procLatch.owner_pid = toss(world, 2) ? 0 : slot + 1;
	proc->wait_event_info = draw_event(world);
	proc->waitLock = toss(world, 2) ? NULL : world->lock;
	proc->lockGroupLeader = toss(world, 2) ? NULL :
		&world->procs[WscRandom(&world->seed, world->num_slots)];
	if (toss(world, 2))
	{
		entry->st_procpid = slot + 1;
#ifdef InvalidBackendId			/* the index of the entry is in the slot */
		proc->backendId = slot + 1;
#endif
	}
}

static void
fill_world(World *world)
{
	for (int slot = 0; slot < world->num_slots; slot++)
		fill_slot(world, slot);
	scramble(world, world->lock, sizeof(*world->lock));
	SET_HEAD(world, world->header->freeProcs);
	SET_HEAD(world, world->header->autovacFreeProcs);
	SET_HEAD(world, world->header->bgworkerFreeProcs);
	SET_HEAD(world, world->header->walsenderFreeProcs);
}

static void
make_world(World *world, int num_slots, uint64 seed)
{
	world->seed = seed;
	world->num_slots = num_slots;
	world->header = allocate(sizeof(PROC_HDR));
	world->procs = allocate(sizeof(PGPROC) * (Size) num_slots);
	world->entries = allocate(sizeof(PgBackendStatus) * (Size) num_slots);
	world->lock = allocate(sizeof(LOCK));
	world->samples = allocate(sizeof(WscSample) * (Size) num_slots);
	scramble(world, world->header, sizeof(PROC_HDR));
	world->header->allProcs = world->procs;
	world->header->allProcCount = (uint32) num_slots;
	world->status.entries = world->entries;
	world->status.num_entries = num_slots;
	world->status.problem = NULL;
}

static void
free_world(World *world)
{
	free(world->header);
	free(world->procs);
	free(world->entries);
	free(world->lock);
	free(world->samples);
}

/* Until leave_world() nothing may run but what is to be tested. */
static void
enter_world(World *world)
{
	HOLD_INTERRUPTS();
	real_header = ProcGlobal;
	real_max_backends = MaxBackends;
	ProcGlobal = world->header;
	MaxBackends = world->num_slots - AUXILIARY;
}

static void
leave_world(void)
{
	ProcGlobal = real_header;
	MaxBackends = real_max_backends;
	RESUME_INTERRUPTS();
}

/* Samples that are not what their slots hold. */
static int
count_wrong(World *world, int n)
{
	int			wrong = 0;
	int			last = 0;

	for (int i = 0; i < n; i++)
	{
		const WscSample *sample = &world->samples[i];
		int			slot = sample->pid - 1;
		const PgBackendStatus *entry = &world->entries[slot];
		bool		has_status = entry->st_procpid == sample->pid &&
		entry->st_changecount % 2 == 0;

		if (slot < 0 || slot >= world->num_slots ||
			world->procs[slot].procLatch.owner_pid != sample->pid ||
			world->procs[slot].wait_event_info != sample->wait_event_info ||
			has_status != ((sample->flags & WSC_SAMPLE_NO_STATUS) == 0) ||
			(has_status && sample->datid != entry->st_databaseid))
			wrong++;
		if (world->num_slots <= 512 && sample->pid <= last)
			wrong++;
		last = sample->pid;
	}
	return wrong;
}

static int
count_processes(const World *world)
{
	int			n = 0;

	for (int slot = 0; slot < world->num_slots; slot++)
		n += world->procs[slot].procLatch.owner_pid != 0;
	return n;
}

/*
 * Scans so many arrays of so many slots, each a few times; returns how many
 * samples were wrong or missing.  The first scan of a scanner sees all.
 */
Datum
wsc_test_synthetic(PG_FUNCTION_ARGS)
{
	int			num_slots = PG_GETARG_INT32(0);
	int			arrays = PG_GETARG_INT32(1);
	WscScanOptions options = {.idle = true};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "synthetic scan",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcxt = MemoryContextSwitchTo(context);
	World		world;
	int64		wrong = 0;

	make_world(&world, num_slots, (uint64) PG_GETARG_INT32(2));
	given_status = &world.status;
	for (int i = 0; i < arrays; i++)
	{
		WscScanner *scanner;

		CHECK_FOR_INTERRUPTS();
		fill_world(&world);
		enter_world(&world);
		scanner = WscScannerCreate();
		for (int scan = 0; scan < 3; scan++)
		{
			int			n = WscScan(scanner, &options, world.samples,
									world.counts);

			wrong += count_wrong(&world, n);
			if (scan == 0)
				wrong += abs(n - count_processes(&world));
		}
		leave_world();
		MemoryContextReset(context);
	}
	given_status = NULL;
	free_world(&world);
	MemoryContextSwitchTo(oldcxt);
	MemoryContextDelete(context);
	PG_RETURN_INT64(wrong);
}
