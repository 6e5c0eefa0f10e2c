/*-------------------------------------------------------------------------
 *
 * heavy_waits.h
 *	  Waits for heavyweight locks, followed from tick to tick.
 *
 * The waits that go on lie in shared memory, in one place per slot of the
 * process array, so that a new sampler goes on with them.  The sampler is the
 * only writer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_HEAVY_WAITS_H
#define WSC_HEAVY_WAITS_H

#include "sample/sample.h"

/* What a wait is for.  Compared by memcmp(): padding is 0. */
typedef struct WscHeavyKey
{
	Oid			datid;			/* InvalidOid: none */
	Oid			relid;			/* InvalidOid: none */
	uint8		locktype;		/* LockTagType + 1 */
	uint8		mode;			/* LOCKMODE wanted; 0: not known */

	/* Of who is in the way, where that is told apart. */
	uint8		blocker_mode;	/* 0: not known */
	uint8		blocker_type;	/* BackendType; 0: not known */
	uint8		blocker_queued;
	uint8		padding[3];
} WscHeavyKey;

/*
 * Who keeps a process waiting, and who is at the root of that: waits for
 * nobody.  A pid of 0 is a prepared transaction.
 */
typedef struct WscHeavyBlocker
{
	bool		known;
	bool		root_known;
	bool		queued;			/* is ahead in the queue, holds nothing */
	uint8		mode;			/* held, or wanted if queued */
	uint8		backend_type;	/* 0: not known */
	uint8		state;			/* BackendState */
	uint8		root_state;
	int32		pid;
	int32		root_pid;
} WscHeavyBlocker;

typedef enum WscHeavyOutcome
{
	WSC_OUTCOME_UNKNOWN,
	WSC_OUTCOME_GRANTED,
	WSC_OUTCOME_GIVEN_UP		/* cancelled, timed out, deadlock */
} WscHeavyOutcome;

typedef struct WscHeavyWait
{
	WscHeavyKey key;
	int32		pid;			/* 0: no wait */
	int32		slot;
	Oid			datid;			/* of the process */
	Oid			usesysid;
	int64		queryid;
	TimestampTz told_start;		/* by the server; 0: not known */
	TimestampTz started_at;		/* that, or what is likely */
	int64		started_ns;		/* the same, CLOCK_MONOTONIC */
	int64		seen_ns;		/* when it was last seen */

	/* Of one that has ended. */
	int64		length_ns;
	int32		outcome;		/* WscHeavyOutcome */
	WscHeavyBlocker blocker;	/* filled in by the sampler */
} WscHeavyWait;

extern Size WscHeavyWaitsSize(void);
extern void WscHeavyWaitsAttach(void *mem, bool found);

typedef struct WscHeavyFollower WscHeavyFollower;

/* Allocates in the current memory context. */
extern WscHeavyFollower *WscHeavyFollowerCreate(void);

/*
 * For each tick, with all its samples, and by slot the starts of their waits.
 * Sets ended to the waits that have ended since the tick before, and returns
 * how many; they are good until the next call.
 */
extern int	WscHeavyWaitsFollow(WscHeavyFollower *follower,
								const WscTick *tick, const WscSample *samples,
								const TimestampTz *starts, int n,
								WscHeavyWait **ended);

/*
 * Any process: is there a wait in that slot that had begun by then,
 * CLOCK_MONOTONIC?
 */
extern bool WscHeavyWaitsSince(int slot, int64 began_ns);

/* Sampler only: is there one anywhere? */
extern bool WscHeavyAnySince(const WscHeavyFollower *follower, int64 began_ns);

/*
 * Sampler only, after that: what the process of a sample waits for, which must
 * be a heavyweight lock.  Known also where the sample does not tell any more.
 */
extern const WscHeavyKey *WscHeavyKeyOf(const WscSample *sample);

#endif							/* WSC_HEAVY_WAITS_H */
