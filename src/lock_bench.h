/*-------------------------------------------------------------------------
 *
 * lock_bench.h
 *	  The benchmark of locks: what is asked for, and what came of it.
 *
 * A cell is one variant with one number of clients and one share of writes.
 * A slice is one cell in one round.  Workers are started once, as many as the
 * highest number of clients, and take part in a slice or sleep.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_BENCH_H
#define WSC_LOCK_BENCH_H

#include "bench/lock_variants.h"

typedef struct WscBenchPlan
{
	int			nvariants;
	const WscLockVariant **variants;
	int			nclients;		/* 0: choose, and fill in what was chosen */
	int		   *clients;
	int			nwrite_pcts;
	int		   *write_pcts;
	double		duration_ms;	/* of one slice */
	int			rounds;
	int			hold;
	int			think;
} WscBenchPlan;

/* One slice. */
typedef struct WscBenchRound
{
	double		ops_per_sec;
	double		cpu_ms;			/* of all workers that took part */
	double		cpu_share;		/* in what they could have had */
	double		fairness;		/* slowest worker / fastest */
} WscBenchRound;

typedef struct WscBenchCell
{
	const WscLockVariant *variant;
	int			clients;
	int			write_pct;
	const char *why_not;		/* it cannot run here: the rest is empty */
	WscBenchRound *rounds;
	WscWaitHistogram *waits;	/* all rounds together */
	int64		lost;
	int64		torn;
} WscBenchCell;

/*
 * One cell for each variant, within each share of writes, within each number
 * of clients, in the current memory context.
 */
extern WscBenchCell *WscBenchRun(WscBenchPlan *plan, int *ncells);

/*
 * What leader and workers share, in a dynamic segment.
 */

typedef struct WscBenchWorker
{
	struct Latch *latch;		/* by the worker, once, when it has come */
	pg_atomic_uint32 slice;		/* by the leader: its next, from 1 on */

	/* By the worker, at the end of a slice. */
	uint64		reads;
	uint64		writes;
	uint64		torn;
	int64		cpu_ns;
	WscWaitHistogram waits;
} WscBenchWorker;

typedef struct WscBenchShared
{
	WscBenchLock lock;
	WscBenchPair pair;

	/* By the leader, before the number of the slice. */
	struct Latch *leader;
	int			nworkers;
	int			variant;		/* index in wsc_lock_variants */
	int			clients;
	int			write_pct;
	int			hold;
	int			think;

	/* By the leader. */
	pg_atomic_uint32 started;	/* number of the slice last started */
	pg_atomic_uint32 running;	/* 1: until its end */
	pg_atomic_uint32 stop;		/* 1: workers are to end */

	/* Counted by the workers; the last one sets the leader's latch. */
	pg_atomic_uint32 attached;	/* there */
	pg_atomic_uint32 ready;		/* of those that take part in the slice */
	pg_atomic_uint32 done;		/* the same, with its results */
	WscBenchWorker workers[FLEXIBLE_ARRAY_MEMBER];
} WscBenchShared;

#define WSC_BENCH_WORKER_MAIN "WscBenchWorkerMain"

#endif							/* WSC_LOCK_BENCH_H */
