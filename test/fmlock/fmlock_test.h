/*-------------------------------------------------------------------------
 *
 * fmlock_test.h
 *	  What the files of the lock driver share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FMLOCK_TEST_H
#define FMLOCK_TEST_H

#include "fmgr.h"
#include "storage/lwlock.h"

#include "lock/fmlock.h"
#include "port/compat.h"

#define FMTEST_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#define FMTEST_GATES 4

/* One more than a process may hold. */
#define FMTEST_NESTED 17

/* In shared memory, made by the postmaster. */
typedef struct FmTest
{
	FmLockPadded lock;			/* the lock under test; guards a and b */
	union
	{
		struct
		{
			volatile int64 a;	/* a writer raises a, works, raises b */
			volatile int64 b;
		}			v;
		char		pad[PG_CACHE_LINE_SIZE];
	}			guarded;
	FmLockPadded nested[FMTEST_NESTED];
	FmLockPadded spare;			/* for names registered later */
	LWLockPadded lwlock;		/* to compare with */
	pg_atomic_uint64 reads;		/* sums over all workers */
	pg_atomic_uint64 writes;
	pg_atomic_uint64 torn;
	pg_atomic_uint64 arrived;	/* players at the meeting point, ever */
	pg_atomic_uint64 relays;	/* readers that have relieved another, ever */
	pg_atomic_uint32 open[FMTEST_GATES];
	bool		postmaster_tried;	/* the conditional form works there */
} FmTest;

extern FmTest *FmTestShared(void);
extern FmLockMode FmTestMode(const char *name);
extern void FmTestPause(void);
extern int	FmTestCountPosts(void);

#endif							/* FMLOCK_TEST_H */
