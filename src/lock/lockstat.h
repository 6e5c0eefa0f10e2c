/*-------------------------------------------------------------------------
 *
 * lockstat.h
 *	  Named locks and how contended they are.
 *
 * Locks initialised with the same name share one entry.  One attempt to
 * acquire ends in one of these ways, and is counted then:
 *
 *	gets			got it, one way or another
 *	  spin_gets		got it after the first attempt failed, without sleeping
 *	  sleeps		got it after sleeping, however often it was woken
 *	misses			first attempts that failed: spin_gets, sleeps, and the
 *					conditional attempts that were refused
 *
 * cas_retries counts how often another process changed the lock's word
 * under an attempt.  wait_ns, max_wait_ns and the histogram cover the
 * attempts that slept, from the end of spinning until the lock was got;
 * so the histogram adds up to sleeps.
 *
 * The counters of a row are read one after the other while locks are in
 * use: the sums above hold when nobody is at it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LOCKSTAT_H
#define LOCKSTAT_H

#include "datatype/timestamp.h"

#include "lock/fmlock.h"

#define LOCKSTAT_MAX_LOCKS 32

/*
 * Bucket 0 counts waits below 1 us, bucket i those of at least 2^(i-1) us and
 * below 2^i us, the last one also all that are longer (16.7 s and more).
 */
#define LOCKSTAT_BUCKETS 26

/* One lock in one mode. */
typedef struct LockStatRow
{
	char		name[NAMEDATALEN];
	int64		gets;
	int64		misses;
	int64		cas_retries;
	int64		spin_gets;
	int64		sleeps;
	int64		wait_ns;
	int64		max_wait_ns;
	int64		histogram[LOCKSTAT_BUCKETS];
} LockStatRow;

/* Number of entries; they are numbered from 0 and never go. */
extern int	LockStatCount(void);

/* False: no such entry. */
extern bool LockStatRead(int lock, FmLockMode mode, LockStatRow *row);

/*
 * Name of the lock whose waits report that event, which other processes may
 * have registered.  False: none, or no shared memory.
 */
extern bool LockStatNameOfEvent(uint32 wait_event_info, char *name);

/* Has taken effect when it returns; waits for nobody. */
extern void LockStatReset(TimestampTz now);

/* When the counters were last reset; server start if never. */
extern TimestampTz LockStatResetTime(void);

/*
 * For fmlock.c.
 */

/* What came of one attempt, beyond "got it at once". */
typedef struct LockStatMiss
{
	uint32		cas_retries;
	bool		missed;			/* the first attempt failed */
	bool		slept;
	int64		wait_ns;
} LockStatMiss;

/* The gets of one process, whole cache lines.  Only the process writes. */
typedef struct LockStatProc
{
	pg_atomic_uint64 gets[LOCKSTAT_MAX_LOCKS][FMLOCK_NUM_MODES];
} LockStatProc;

extern Size LockStatShmemSize(int nprocs);
extern void LockStatShmemAttach(void *mem, int nprocs, bool found);

#define LOCKSTAT_NO_ENTRY (-1)

/* The entry of that name, a new one if there is none and there is room. */
extern int	LockStatRegister(const char *name);

/* What a process that sleeps for the lock reports as its wait event. */
extern uint32 LockStatWaitEvent(int lock);

extern LockStatProc *LockStatProcOf(int procno);

extern void LockStatCountMiss(int lock, FmLockMode mode,
							  const LockStatMiss *miss);
extern void LockStatCountRefusal(int lock, FmLockMode mode,
								 uint32 cas_retries);

#endif							/* LOCKSTAT_H */
