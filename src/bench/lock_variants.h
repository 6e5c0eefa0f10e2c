/*-------------------------------------------------------------------------
 *
 * lock_variants.h
 *	  The locks that the benchmark compares, each with its loop.
 *
 * All use the same room and guard the same pair of counters, whose lines are
 * their own.  A writer raises the first, spends the time of "hold", raises
 * the second.  A reader reads the first, spends the time, reads the second:
 * if they differ, the read is torn.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_VARIANTS_H
#define WSC_LOCK_VARIANTS_H

#include <pthread.h>

#include "storage/lwlock.h"
#include "storage/spin.h"

#include "bench/wait_histogram.h"
#include "lock/fmlock.h"

/* One of so many acquisitions, drawn at random, is timed. */
#define WSC_BENCH_TIMED_ONE_OF 64

typedef struct WscFutexLock
{
	pg_atomic_uint32 state;		/* bits as in a lock of ours */
	pg_atomic_uint32 wakes;		/* what waiters sleep on: wakes so far */
} WscFutexLock;

typedef union WscBenchLock
{
	FmLock		fmlock;
	LWLock		lwlock;
	slock_t		spinlock;
	pg_atomic_uint32 word;
	WscFutexLock futex;
	pthread_rwlock_t rwlock;
	char		pad[PG_CACHE_LINE_SIZE];
} WscBenchLock;

typedef union WscBenchPair
{
	struct
	{
		volatile uint64 first;
		volatile uint64 second;
	}			counters;
	char		pad[PG_CACHE_LINE_SIZE];
} WscBenchPair;

/* What one worker does, until told to end, and what came of it. */
typedef struct WscBenchTask
{
	WscBenchLock *lock;
	WscBenchPair *pair;
	pg_atomic_uint32 *running;	/* 0: end */
	int			write_pct;
	int			hold;			/* turns of an empty loop */
	int			think;
	uint64		random;

	/* raised by each run */
	uint64		reads;
	uint64		writes;
	uint64		torn;
	WscWaitHistogram waits;
} WscBenchTask;

typedef struct WscLockVariant
{
	const char *name;
	bool		guards;			/* false: lost and torn mean nothing */
	const char *(*why_not) (void);	/* why it cannot run here, or NULL */
	void		(*init) (WscBenchLock *lock, const char *name);
	void		(*run) (WscBenchTask *task);
} WscLockVariant;

/*
 * run() returns when the task is to end, or when an interrupt is to be served:
 * the caller does that, and calls again.  It leaves the lock free.
 */
extern const WscLockVariant wsc_lock_variants[];
extern const int wsc_num_lock_variants;

#endif							/* WSC_LOCK_VARIANTS_H */
