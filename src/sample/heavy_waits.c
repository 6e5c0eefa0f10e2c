/*-------------------------------------------------------------------------
 *
 * heavy_waits.c
 *	  Waits for heavyweight locks, followed from tick to tick.
 *
 * A wait is the same as in the tick before if process, mode and what a
 * WscHeavyKey has of the lock are, and the start that the server tells (since
 * 14).  Before, two waits in a row for two transactions, say, look like one.
 * The length is known to a period where the server tells the start, else to
 * two: what is not known lies in the middle of the time between two ticks, or
 * of what the tick stands for if ticks were missed.
 *
 * Three things must not be taken for the end of a wait: the process has been
 * woken, but has not yet run, so that the lock it waits for is no longer to be
 * seen; it looks for a deadlock, and reports no wait meanwhile; the tick did
 * not look at its slot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sample/heavy_waits.h"
#include "port/procarray.h"
#include "port/shmem_compat.h"
#include "port/wait_events.h"

/* In shared memory, by slot. */
typedef struct HeavyPlace
{
	pg_atomic_uint64 began_ns;	/* of the wait that goes on; 0: none */
	WscHeavyWait wait;			/* writer's own */
} HeavyPlace;

static HeavyPlace *places;

struct WscHeavyFollower
{
	int			num_open;
	int		   *open;			/* slots with a wait */
	WscHeavyWait *ended;
};

Size
WscHeavyWaitsSize(void)
{
	return mul_size(sizeof(HeavyPlace), (Size) WscMaxProcs());
}

void
WscHeavyWaitsAttach(void *mem, bool found)
{
	places = (HeavyPlace *) mem;
	if (found)
		return;
	memset(places, 0, WscHeavyWaitsSize());
	for (int slot = 0; slot < WscMaxProcs(); slot++)
		pg_atomic_init_u64(&places[slot].began_ns, 0);
}

WscHeavyFollower *
WscHeavyFollowerCreate(void)
{
	WscHeavyFollower *follower = palloc0(sizeof(WscHeavyFollower));
	int			num_slots = WscNumSlots();

	follower->open = palloc0(sizeof(int) * (Size) num_slots);
	follower->ended = palloc0(sizeof(WscHeavyWait) * (Size) num_slots);
	for (int slot = 0; slot < num_slots; slot++)
		if (places[slot].wait.pid != 0)
			follower->open[follower->num_open++] = slot;
	return follower;
}

const WscHeavyKey *
WscHeavyKeyOf(const WscSample *sample)
{
	return &places[sample->slot].wait.key;
}

static void
read_key(const WscSample *sample, WscHeavyKey *key)
{
	memset(key, 0, sizeof(*key));
	key->datid = sample->lock_datid;
	key->relid = sample->lock_relid;
	key->locktype = sample->locktype;
	key->mode = sample->lock_mode;
}

/* Has the process of the sample been waiting like that before? */
static bool
is_same_wait(const WscHeavyWait *wait, const WscSample *sample,
			 const WscHeavyKey *key, TimestampTz start)
{
	if (wait->pid != sample->pid || wait->key.locktype != key->locktype)
		return false;
	if (key->mode == 0)
		return true;			/* woken, not yet running */
	return memcmp(&wait->key, key, sizeof(*key)) == 0 &&
		(start == wait->told_start || wait->told_start == 0);
}

/* In the middle between now and the tick before, going by the tick's weight. */
static int64
half_a_tick(const WscTick *tick)
{
	return tick->weight_ns / 2;
}

static void
begin_wait(WscHeavyWait *wait, const WscTick *tick, const WscSample *sample,
		   const WscHeavyKey *key, TimestampTz start)
{
	int64		age_ns;

	/* A wait that was cancelled leaves its start to the next one. */
	if (start == wait->told_start)
		start = 0;
	age_ns = start != 0 ? (tick->sampled_at - start) * 1000 :
		half_a_tick(tick);
	age_ns = Max(age_ns, 0);

	wait->key = *key;
	wait->slot = sample->slot;
	wait->datid = sample->datid;
	wait->usesysid = sample->usesysid;
	wait->queryid = sample->queryid;
	wait->told_start = start;
	wait->started_at = tick->sampled_at - age_ns / 1000;
	wait->started_ns = tick->mono_ns - age_ns;
	wait->seen_ns = tick->mono_ns;
	wait->pid = sample->pid;
	pg_atomic_write_u64(&places[wait->slot].began_ns,
						(uint64) wait->started_ns);
}

/* It has ended since it was last seen. */
static void
end_wait(WscHeavyFollower *follower, int num_ended, const WscTick *tick,
		 WscHeavyWait *wait, WscHeavyOutcome outcome)
{
	WscHeavyWait *ended = &follower->ended[num_ended];
	int64		end_ns = Min(tick->mono_ns,
							 wait->seen_ns + half_a_tick(tick));

	*ended = *wait;
	ended->length_ns = Max(end_ns - wait->started_ns, 0);
	ended->outcome = outcome;
	wait->pid = 0;
	pg_atomic_write_u64(&places[wait->slot].began_ns, 0);
}

/* The waits of this tick; returns the number of those that have ended. */
static int
take_samples(WscHeavyFollower *follower, const WscTick *tick,
			 const WscSample *samples, const TimestampTz *starts, int n)
{
	int			num_ended = 0;

	for (int i = 0; i < n; i++)
	{
		const WscSample *sample = &samples[i];
		TimestampTz start = starts[sample->slot];
		WscHeavyWait *wait = &places[sample->slot].wait;
		WscHeavyKey key;

		if (sample->locktype == WSC_LOCKTYPE_NONE)
			continue;
		read_key(sample, &key);
		if (is_same_wait(wait, sample, &key, start))
		{
			wait->seen_ns = tick->mono_ns;
			if (wait->told_start == 0)
				wait->told_start = start;
			continue;
		}
		/* If it waits again, how the last wait ended is forgotten. */
		if (wait->pid != 0)
			end_wait(follower, num_ended++, tick, wait, WSC_OUTCOME_UNKNOWN);
		else
			follower->open[follower->num_open++] = sample->slot;
		begin_wait(wait, tick, sample, &key, start);
	}
	return num_ended;
}

/*
 * Is the wait over that this tick did not see?  And how has it ended?  The
 * status outlives the wait, until the next one or the end of the process.
 */
static bool
has_ended(const WscHeavyWait *wait, WscHeavyOutcome *outcome)
{
	PGPROC	   *proc = WscSlot(wait->slot);
	bool		same_start = WscSlotWaitStart(proc) == wait->told_start;
	WscLockStatus status;

	/* A grant sets the status first: it must not come between the two. */
	pg_read_barrier();
	status = WscSlotLockStatus(proc);
	pg_read_barrier();			/* what belongs to the pid before the pid */
	*outcome = WSC_OUTCOME_UNKNOWN;
	if (WscSlotPid(proc) != wait->pid)
		return true;
	if (status == WSC_LOCK_STATUS_WAITING)
		return !same_start;
	*outcome = status == WSC_LOCK_STATUS_OK ? WSC_OUTCOME_GRANTED :
		WSC_OUTCOME_GIVEN_UP;
	return true;
}

int
WscHeavyWaitsFollow(WscHeavyFollower *follower, const WscTick *tick,
					const WscSample *samples, const TimestampTz *starts,
					int n, WscHeavyWait **ended)
{
	int			num_ended;
	int			i = 0;

	num_ended = take_samples(follower, tick, samples, starts, n);
	while (i < follower->num_open)
	{
		WscHeavyWait *wait = &places[follower->open[i]].wait;
		WscHeavyOutcome outcome;

		if (wait->seen_ns != tick->mono_ns)
		{
			if (has_ended(wait, &outcome))
			{
				end_wait(follower, num_ended++, tick, wait, outcome);
				follower->open[i] = follower->open[--follower->num_open];
				continue;
			}
			wait->seen_ns = tick->mono_ns;
		}
		i++;
	}
	*ended = follower->ended;
	return num_ended;
}

bool
WscHeavyWaitsSince(int slot, int64 began_ns)
{
	int64		began = (int64) pg_atomic_read_u64(&places[slot].began_ns);

	return began != 0 && began <= began_ns;
}

bool
WscHeavyAnySince(const WscHeavyFollower *follower, int64 began_ns)
{
	for (int i = 0; i < follower->num_open; i++)
		if (WscHeavyWaitsSince(follower->open[i], began_ns))
			return true;
	return false;
}
