/*-------------------------------------------------------------------------
 *
 * fmlock.h
 *	  Reader/writer lock whose acquire is one fetch-mask-add.
 *
 * Like an LWLock: short sections, not recursive, interrupts held off while
 * it is held, released by error recovery.  Never requested while an LWLock,
 * a buffer lock or a spinlock is held; nothing that can raise an error or
 * wait is done while it is held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FMLOCK_H
#define FMLOCK_H

#include "port/atomics.h"

typedef enum FmLockMode
{
	FMLOCK_EXCLUSIVE,
	FMLOCK_SHARED
} FmLockMode;

#define FMLOCK_NUM_MODES 2

/* So many a process can hold at once. */
#define FMLOCK_MAX_HELD 16

typedef struct FmLock
{
	pg_atomic_uint32 state;
	uint16		id;				/* number in the registry of named locks */
	bool		writers_first;	/* set before the lock is used */
	int32		head;			/* wait list, process numbers; -1: empty */
	int32		tail;
} FmLock;

/* In an array or a struct use this one: a lock fills its own cache line. */
typedef union FmLockPadded
{
	FmLock		lock;
	char		pad[PG_CACHE_LINE_SIZE];
} FmLockPadded;

/* Wait queue entries and registry, for that many processes. */
extern Size FmLockShmemSize(int nprocs);
extern void FmLockShmemAttach(void *mem, int nprocs, bool found);

/* At shared memory start, once per lock.  The name shows in views. */
extern void FmLockInit(FmLock *lock, const char *name);

/* False: there are too many names already. */
extern bool FmLockTryInit(FmLock *lock, const char *name);

/*
 * After the initialisation, before the lock is used: a writer that waits
 * holds back readers that come after it.
 */
extern void FmLockPreferWriters(FmLock *lock);

/* Acquire barrier. */
extern void FmLockAcquire(FmLock *lock, FmLockMode mode);
extern bool FmLockConditionalAcquire(FmLock *lock, FmLockMode mode);

/* Release barrier. */
extern void FmLockRelease(FmLock *lock);

/* For error blocks of own workers; elsewhere done at abort and exit. */
extern void FmLockReleaseAll(void);

extern bool FmLockHeldByMe(const FmLock *lock);

#endif							/* FMLOCK_H */
