/*-------------------------------------------------------------------------
 *
 * blockers.c
 *	  Who keeps those who wait for heavyweight locks waiting.
 *
 * The keeper goes through the slots whose processes the sampler has found
 * waiting.  A place says which wait it is about: by the process, and by the
 * start that the server tells.  It is guarded by its change counter (see
 * store.h), which the sampler tries once: a keeper that was stopped in the
 * middle of a change does not hold it up.
 *
 * While a process waits, others may come and go before it.  The one that was
 * found at most of the looks, if there is such a one, is found with a single
 * candidate: a look that finds it is a vote for it, any other look takes one
 * away, and without votes the next one found takes its place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/blockers.h"
#include "port/lock_table.h"
#include "port/shmem_compat.h"
#include "port/timer.h"
#include "store/store.h"

/* No chain is followed further. */
#define MAX_DEPTH 32

/* Written by the keeper. */
typedef struct BlockerPlace
{
	pg_atomic_uint32 changes;	/* odd while the rest changes */
	int32		pid;			/* the process that waits */
	TimestampTz start;			/* of its wait; 0: not known */
	int64		looked_ns;		/* the last look at it */
	int32		votes;			/* looks for the blocker less others */
	WscHeavyBlocker blocker;
} BlockerPlace;

struct WscBlockerLooker
{
	WscStatusArray status;
	int			next_slot;		/* where the last look has stopped */
};

static BlockerPlace *places;	/* by slot */

Size
WscBlockersSize(void)
{
	return mul_size(sizeof(BlockerPlace), (Size) WscMaxProcs());
}

void
WscBlockersAttach(void *mem, bool found)
{
	places = (BlockerPlace *) mem;
	if (found)
		return;
	memset(places, 0, WscBlockersSize());
	for (int slot = 0; slot < WscMaxProcs(); slot++)
		pg_atomic_init_u32(&places[slot].changes, 0);
}

WscBlockerLooker *
WscBlockerLookerCreate(void)
{
	WscBlockerLooker *looker = palloc0(sizeof(WscBlockerLooker));

	WscStatusAttach(&looker->status);
	return looker;
}

/* What a process does; a prepared transaction does nothing. */
static void
read_state(const WscBlockerLooker *looker, const WscBlocker *process,
		   uint8 *state, uint8 *backend_type)
{
	WscStatus	status;

	*state = STATE_UNDEFINED;
	*backend_type = 0;
	if (process->pid != 0 && WscStatusRead(&looker->status, process->slot,
										   process->pid, &status))
	{
		*state = (uint8) status.state;
		*backend_type = (uint8) status.backend_type;
	}
}

/*
 * Who waits for nobody.  There is none in a deadlock; and it is not known if
 * somebody on the way waits and it was not to be seen for whom.
 */
static void
find_root(const WscBlockerLooker *looker, WscBlocker root,
		  WscHeavyBlocker *blocker)
{
	WscBlockerFound found = WSC_BLOCKER_FOUND;
	uint8		backend_type;

	for (int depth = 0; depth < MAX_DEPTH && root.pid != 0; depth++)
	{
		found = WscFindBlocker(root.slot, &root);
		if (found != WSC_BLOCKER_FOUND)
			break;
	}
	if (root.pid != 0 && found != WSC_BLOCKER_NONE)
		return;
	blocker->root_known = true;
	blocker->root_pid = root.pid;
	read_state(looker, &root, &blocker->root_state, &backend_type);
}

/* Within a change of the place. */
static void
vote(BlockerPlace *place, int slot, int pid, TimestampTz start,
	 const WscHeavyBlocker *found)
{
	bool		same_wait;
	bool		same_blocker;

	same_wait = place->pid == pid && place->start == start &&
		WscHeavyWaitsSince(slot, place->looked_ns);
	same_blocker = found->pid == place->blocker.pid &&
		found->root_pid == place->blocker.root_pid;
	if (same_wait && !same_blocker && place->votes > 1)
	{
		place->votes--;
		return;
	}
	place->votes = same_wait && same_blocker ? place->votes + 1 : 1;
	place->blocker = *found;
}

static void
look_at_slot(const WscBlockerLooker *looker, int slot, int64 now_ns)
{
	BlockerPlace *place = &places[slot];
	PGPROC	   *proc = WscSlot(slot);
	int			pid = WscSlotPid(proc);
	WscHeavyBlocker blocker;
	WscBlocker	found;

	memset(&blocker, 0, sizeof(blocker));
	if (pid == 0 || WscFindBlocker(slot, &found) != WSC_BLOCKER_FOUND)
		return;
	blocker.known = true;
	blocker.queued = found.queued;
	blocker.mode = (uint8) found.mode;
	blocker.pid = found.pid;
	read_state(looker, &found, &blocker.state, &blocker.backend_type);
	find_root(looker, found, &blocker);

	WscBeginChange(&place->changes);
	vote(place, slot, pid, found.start, &blocker);
	place->pid = pid;
	place->start = found.start;
	place->looked_ns = now_ns;
	WscEndChange(&place->changes);
}

void
WscBlockersLook(WscBlockerLooker *looker, int64 limit_ns)
{
	int64		now_ns = WscTimerNow();
	int			num_slots = WscNumSlots();

	for (int i = 0; i < num_slots; i++)
	{
		int			slot = looker->next_slot;

		looker->next_slot = (slot + 1) % num_slots;
		if (!WscHeavyWaitsSince(slot, now_ns - WSC_BLOCKED_NS))
			continue;
		look_at_slot(looker, slot, now_ns);
		if (WscTimerNow() - now_ns > limit_ns)
			return;
	}
}

void
WscBlockersGet(WscHeavyWait *wait)
{
	BlockerPlace *place = &places[wait->slot];
	WscHeavyBlocker blocker;
	uint32		before;
	bool		is_its;

	memset(&wait->blocker, 0, sizeof(wait->blocker));
	if (!WscBeginRead(&place->changes, &before))
		return;
	is_its = place->pid == wait->pid && place->start == wait->told_start &&
		place->looked_ns > wait->started_ns;
	blocker = place->blocker;
	if (WscEndRead(&place->changes, before) && is_its)
		wait->blocker = blocker;
}
