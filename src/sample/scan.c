/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  From the process array to samples, without taking a lock.
 *
 * Owners change what we read while we read it.  Per slot:
 *
 *	1. Load the pid of the latch's owner; 0: nobody sits there.
 *	2. Load the wait event.
 *	3. Only if the event's class needs it: mode of the LWLock wait, tag and
 *	   mode of the heavyweight lock wait.  These lie in other cache lines.
 *	4. Status entry under its change counter; when that fails the sample
 *	   keeps its wait and has no status (WSC_SAMPLE_NO_STATUS).
 *	5. Load the wait event again.  Another one: once more from 2, so that
 *	   event, mode and state mostly belong together.
 *	6. Load the pid again.  Another one: drop the sample.
 *
 * Empty slots cost a cache line each, so a long process array is not read as
 * a whole at each tick.  There is a private list of slots to visit.  On it
 * are the slots that have, or had a few ticks ago, a process, and the first
 * ones of each free list, which the next new processes will take whatever
 * the order of the list.  What slips through (more starts in a tick than
 * slots looked at) is found by a sweep through all slots in slices, which
 * bounds the delay: see WscScannerDelay().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sample/scan.h"
#include "port/procarray.h"
#include "port/wait_events.h"
#include "sample/state_class.h"

/* Up to this many slots all are read at each tick. */
#define MAX_SLOTS_READ_AT_ONCE 512

/* A full sweep takes this many ticks. */
#define SWEEP_TICKS 32

/* Slots looked at in each free list. */
#define FREE_LIST_SLOTS 16

/*
 * Ticks an empty slot stays on the list.  More than one, because a process
 * that took its slot off the free list gets its latch a moment later.
 */
#define EMPTY_TICKS 16

#define LOCK_TAG_TRIES 3

struct WscScanner
{
	WscStatusArray status;
	int			num_slots;
	TimestampTz *lock_starts;	/* per slot, of what waits for a lock */

	/* Long process arrays only. */
	int		   *visited;		/* list of slots, unordered */
	int			num_visited;
	uint8	   *ticks_left;		/* per slot; 0: not on the list */
	int			next_swept;
	bool		started;
};

WscScanner *
WscScannerCreate(void)
{
	WscScanner *scanner = palloc0(sizeof(WscScanner));

	WscStatusAttach(&scanner->status);
	scanner->num_slots = WscNumSlots();
	scanner->lock_starts = palloc0(sizeof(TimestampTz) *
								   (Size) scanner->num_slots);
	if (scanner->num_slots > MAX_SLOTS_READ_AT_ONCE)
	{
		scanner->visited = palloc0(sizeof(int) * (Size) scanner->num_slots);
		scanner->ticks_left = palloc0((Size) scanner->num_slots);
	}
	return scanner;
}

int
WscScannerSlots(const WscScanner *scanner)
{
	return scanner->num_slots;
}

const TimestampTz *
WscScanStarts(const WscScanner *scanner)
{
	return scanner->lock_starts;
}

const char *
WscScannerStatusProblem(const WscScanner *scanner)
{
	return scanner->status.problem;
}

int
WscScannerDelay(const WscScanner *scanner)
{
	return scanner->visited == NULL ? 1 : SWEEP_TICKS;
}

/*
 * A process sets lwWaitMode before it reports the wait, and does not change
 * it before the wait has ended; so it belongs to the event, also while the
 * process has been woken (lwWaiting is clear then) but got no CPU yet, which
 * was every fifth sample when tried.
 */
static void
read_lwlock_wait(const volatile PGPROC *proc, WscSample *sample)
{
	uint8		mode = proc->lwWaitMode;

	if (mode == LW_EXCLUSIVE)
		sample->lwlock_mode = WSC_LWLOCK_EXCLUSIVE;
	else if (mode == LW_SHARED)
		sample->lwlock_mode = WSC_LWLOCK_SHARED;
	else if (mode == LW_WAIT_UNTIL_FREE)
		sample->lwlock_mode = WSC_LWLOCK_UNTIL_FREE;
}

static uint8
get_buffer_lock_mode(uint32 event)
{
	switch (WscWaitForBufferLock(event))
	{
		case WSC_BUFFER_SHARED:
			return WSC_LWLOCK_SHARED;
		case WSC_BUFFER_SHARE_EXCLUSIVE:
			return WSC_LWLOCK_SHARE_EXCLUSIVE;
		case WSC_BUFFER_EXCLUSIVE:
			return WSC_LWLOCK_EXCLUSIVE;
		default:
			return WSC_LWLOCK_NONE;
	}
}

/* The columns database and relation of pg_locks. */
static void
store_lock_tag(const LOCKTAG *tag, LOCKMODE mode, WscSample *sample)
{
	sample->lock_mode = (uint8) mode;
	switch ((LockTagType) tag->locktag_type)
	{
		case LOCKTAG_RELATION:
		case LOCKTAG_RELATION_EXTEND:
		case LOCKTAG_PAGE:
		case LOCKTAG_TUPLE:
			sample->lock_datid = tag->locktag_field1;
			sample->lock_relid = tag->locktag_field2;
			break;
		case LOCKTAG_TRANSACTION:
		case LOCKTAG_VIRTUALTRANSACTION:
		case LOCKTAG_SPECULATIVE_TOKEN:
			break;
		default:
			sample->lock_datid = tag->locktag_field1;
			break;
	}
}

/*
 * Memory of LOCK entries is never given back and only used for LOCK entries,
 * so the pointer can be followed even when the wait has just ended.  Only if
 * it is the same afterwards, with the same start and mode, and if the tag is
 * of the kind that the event names, was the copy that wait's.  A process that
 * has been woken but not yet been given a CPU has no lock any more; the kind
 * is known from the event even then.
 */
static void
read_lock_wait(PGPROC *proc, WscSample *sample, WscSampleDetail *detail)
{
	volatile PGPROC *vproc = proc;
	uint8		type = (uint8) (sample->wait_event_info & 0xFF);

	sample->locktype = type + 1;
	for (int i = 0; i < LOCK_TAG_TRIES; i++)
	{
		LOCK	   *lock = vproc->waitLock;
		LOCKMODE	mode = vproc->waitLockMode;
		TimestampTz start = WscSlotWaitStart(proc);
		LOCKTAG		tag;

		if (lock == NULL)
			return;
		pg_read_barrier();		/* the pointer before what it points to */
		tag = lock->tag;
		pg_read_barrier();		/* the copy before the second look */
		if (vproc->waitLock != lock || vproc->waitLockMode != mode ||
			WscSlotWaitStart(proc) != start)
			continue;
		if (tag.locktag_type != type)
			return;
		store_lock_tag(&tag, mode, sample);
		detail->lock_wait_start = start;
		return;
	}
}

/* The kind of process, and its leader if it is a parallel worker. */
static WscProcKind
find_kind(const PGPROC *proc, bool have_status, WscSample *sample)
{
	const PGPROC *leader;

	if (have_status)
	{
		if (sample->backend_type == B_BACKEND)
			return WSC_KIND_CLIENT;
		if (sample->backend_type == B_WAL_SENDER)
			return WSC_KIND_WALSENDER;
		if (sample->backend_type != B_BG_WORKER)
			return WSC_KIND_SERVER;
	}
	else if (WscSlotIsClient(proc))
		return WSC_KIND_CLIENT;

	leader = *(PGPROC *const volatile *) &proc->lockGroupLeader;
	if (leader == NULL || leader == proc)
		return WSC_KIND_WORKER;
	sample->leader_pid = WscSlotPid(leader);
	return WSC_KIND_CLIENT;
}

/* Steps 3 and 4 of one slot. */
static void
fill_sample(const WscScanner *scanner, int slot, int pid, uint32 event,
			WscSample *sample, WscSampleDetail *detail)
{
	PGPROC	   *proc = WscSlot(slot);
	WscProcKind kind;
	WscStatus	status;
	bool		have_status;

	memset(sample, 0, sizeof(*sample));
	sample->pid = pid;
	sample->slot = slot;
	sample->wait_event_info = event;
	detail->state = STATE_UNDEFINED;
	detail->changecount = 0;
	detail->lock_wait_start = 0;

	if (WSC_WAIT_CLASS(event) == PG_WAIT_LWLOCK)
		read_lwlock_wait(proc, sample);
	else if (WSC_WAIT_CLASS(event) == PG_WAIT_LOCK)
		read_lock_wait(proc, sample, detail);
	else
		sample->lwlock_mode = get_buffer_lock_mode(event);

	have_status = WscStatusRead(&scanner->status, slot, pid, &status);
	if (have_status)
	{
		sample->backend_type = (uint8) status.backend_type;
		sample->datid = status.datid;
		sample->usesysid = status.usesysid;

		/* The server clears the last statement's id only for this state. */
		if (status.state == STATE_RUNNING)
			sample->queryid = status.queryid;
		detail->state = (int) status.state;
		detail->changecount = status.changecount;
	}
	else
		sample->flags |= WSC_SAMPLE_NO_STATUS;

	kind = find_kind(proc, have_status, sample);
	sample->state_class = (uint8) WscClassify(kind,
											  (BackendState) detail->state,
											  event);
}

bool
WscScanSlot(const WscScanner *scanner, const WscScanOptions *options,
			int slot, WscSample *sample, WscSampleDetail *detail)
{
	PGPROC	   *proc = WscSlot(slot);
	int			pid = WscSlotPid(proc); /* 1 */
	uint32		event;

	if (pid == 0 || pid == options->skip_pid ||
		(proc == MyProc && !options->self))
		return false;

	pg_read_barrier();			/* the pid before all else */
	event = WscSlotWaitEvent(proc); /* 2 */
	pg_read_barrier();			/* the event before what belongs to it */
	fill_sample(scanner, slot, pid, event, sample, detail); /* 3, 4 */
	pg_read_barrier();			/* all that before the second looks */

	if (WscSlotWaitEvent(proc) != event)	/* 5 */
	{
		event = WscSlotWaitEvent(proc);
		pg_read_barrier();		/* as above */
		fill_sample(scanner, slot, pid, event, sample, detail);
		pg_read_barrier();
	}
	return WscSlotPid(proc) == pid; /* 6 */
}

/* Does the caller want samples of that class? */
static bool
is_wanted(const WscScanOptions *options, uint8 state_class)
{
	return options->idle || state_class == WSC_FOREGROUND ||
		state_class == WSC_IDLE_IN_TRANSACTION ||
		state_class == WSC_BACKGROUND;
}

/*
 * An auxiliary process with nothing to do is what it is whatever its status
 * entry says, which takes a search to find and was a sixth of a scan's time.
 */
static bool
is_idle_auxiliary(int slot)
{
	const PGPROC *proc = WscSlot(slot);

	return slot >= WscFirstAuxiliarySlot() && WscSlotPid(proc) != 0 &&
		WSC_WAIT_CLASS(WscSlotWaitEvent(proc)) == PG_WAIT_ACTIVITY;
}

/* Scan of one slot into the next free sample; returns how many were used. */
static int
take_slot(WscScanner *scanner, const WscScanOptions *options, int slot,
		  WscSample *sample, uint32 *counts)
{
	WscSampleDetail detail;

	if (!options->idle && is_idle_auxiliary(slot))
	{
		counts[WSC_BACKGROUND_IDLE]++;
		return 0;
	}
	if (!WscScanSlot(scanner, options, slot, sample, &detail))
		return 0;
	counts[sample->state_class]++;
	if (sample->locktype != WSC_LOCKTYPE_NONE)
		scanner->lock_starts[slot] = detail.lock_wait_start;
	return is_wanted(options, sample->state_class) ? 1 : 0;
}

/* Puts a slot on the list, or lets it stay longer. */
static void
keep_slot(WscScanner *scanner, int slot)
{
	if (scanner->ticks_left[slot] == 0)
		scanner->visited[scanner->num_visited++] = slot;
	scanner->ticks_left[slot] = EMPTY_TICKS;
}

/* The slots on the list; takes off those that have been empty for long. */
static int
scan_visited(WscScanner *scanner, const WscScanOptions *options,
			 WscSample *samples, uint32 *counts)
{
	int			n = 0;
	int			i = 0;

	while (i < scanner->num_visited)
	{
		int			slot = scanner->visited[i];

		if (WscSlotPid(WscSlot(slot)) != 0)
			scanner->ticks_left[slot] = EMPTY_TICKS;
		else if (--scanner->ticks_left[slot] == 0)
		{
			scanner->visited[i] = scanner->visited[--scanner->num_visited];
			continue;
		}
		n += take_slot(scanner, options, slot, &samples[n], counts);
		i++;
	}
	return n;
}

/* Looks into a slice of the slots that are not on the list. */
static int
sweep_slots(WscScanner *scanner, int count, const WscScanOptions *options,
			WscSample *samples, uint32 *counts)
{
	int			n = 0;

	while (count-- > 0)
	{
		int			slot = scanner->next_swept;

		scanner->next_swept = (slot + 1) % scanner->num_slots;
		if (scanner->ticks_left[slot] != 0 || WscSlotPid(WscSlot(slot)) == 0)
			continue;
		keep_slot(scanner, slot);
		n += take_slot(scanner, options, slot, &samples[n], counts);
	}
	return n;
}

/* Slots that the next new processes will take. */
static void
keep_coming_slots(WscScanner *scanner)
{
	int			slots[FREE_LIST_SLOTS];

	for (int list = 0; list < WSC_NUM_FREE_LISTS; list++)
	{
		int			n = WscPeekFreeList(list, slots, FREE_LIST_SLOTS);

		for (int i = 0; i < n; i++)
			keep_slot(scanner, slots[i]);
	}
	for (int i = WscFirstAuxiliarySlot(); i < scanner->num_slots; i++)
		keep_slot(scanner, i);
}

/* The first time everything is swept; later slots are known by then. */
static int
scan_long_array(WscScanner *scanner, const WscScanOptions *options,
				WscSample *samples, uint32 *counts)
{
	int			slice = (scanner->num_slots + SWEEP_TICKS - 1) / SWEEP_TICKS;
	int			n;

	if (!scanner->started)
		slice = scanner->num_slots;
	scanner->started = true;

	n = scan_visited(scanner, options, samples, counts);
	n += sweep_slots(scanner, slice, options, &samples[n], counts);
	keep_coming_slots(scanner);
	return n;
}

int
WscScan(WscScanner *scanner, const WscScanOptions *options,
		WscSample *samples, uint32 counts[WSC_NUM_STATE_CLASSES])
{
	int			n = 0;

	memset(counts, 0, sizeof(uint32) * WSC_NUM_STATE_CLASSES);
	if (scanner->visited != NULL)
		return scan_long_array(scanner, options, samples, counts);
	for (int slot = 0; slot < scanner->num_slots; slot++)
		n += take_slot(scanner, options, slot, &samples[n], counts);
	return n;
}
