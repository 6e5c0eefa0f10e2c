/*-------------------------------------------------------------------------
 *
 * pg_waitscope_lock.h
 *	  The locks of pg_waitscope for other extensions.
 *
 * Installed as extension/pg_waitscope/pg_waitscope_lock.h below the server's
 * headers; nothing has to be linked.  doc/locks.md has the rules at length,
 * test/apiuser an extension that uses this.
 *
 * Usage.  Put a WscEitherLock into a struct in main shared memory, and then:
 *
 *	1. In shmem_startup_hook, and with AddinShmemInitLock held as usual:
 *
 *			api = WscFindLockApi(WSC_LOCK_API_VERSION, sizeof(WscLockApi));
 *			map = ShmemInitStruct("mine", sizeof(*map), &found);
 *			if (!found)
 *				WscEitherLockInit(&map->lock, api, "mine", fallback);
 *
 *	   The order in shared_preload_libraries does not matter; in _PG_init it
 *	   would, so do not look there.
 *	2. WscEitherLockAcquire(&map->lock, api, WSC_LOCK_SHARED), a few reads,
 *	   WscEitherLockRelease(&map->lock, api).
 *
 * Who needs no fallback calls the functions of WscLockApi.
 *
 * ABI.  Fields are only ever appended, the version goes up then, and no field
 * changes its meaning; what cannot be done so gets another rendezvous
 * variable.  So a library serves all that ask for its version or less.  Only
 * WscFindLockApi() compares, so everybody gets the API through it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_WAITSCOPE_LOCK_H
#define PG_WAITSCOPE_LOCK_H

#include "fmgr.h"
#include "storage/lwlock.h"

#define WSC_LOCK_API_NAME "pg_waitscope_lock_api"
#define WSC_LOCK_API_VERSION 1

/*
 * At most so many at once in a process, those of pg_waitscope and of all its
 * users together.
 */
#define WSC_LOCK_MAX_HELD 16

typedef enum WscLockMode
{
	WSC_LOCK_EXCLUSIVE,
	WSC_LOCK_SHARED
} WscLockMode;

/*
 * Room for a lock, a cache line.  It belongs into main shared memory, best at
 * a multiple of its size, and away from what is written often.
 */
typedef union WscLock
{
	char		space[128];
	uint64		align;
} WscLock;

typedef struct WscLockApi
{
	uint32		version;		/* WSC_LOCK_API_VERSION of the library */
	uint32		size;			/* sizeof(WscLockApi) there */
	uint32		lock_size;		/* what a lock takes, at most sizeof(WscLock) */
	uint32		lock_align;

	/*
	 * Once per lock, by the process that makes the memory, from
	 * shmem_startup_hook on.  The name (below NAMEDATALEN) shows in views;
	 * locks of one name share one row.  AddinShmemInitLock may be held, no
	 * other lock.  False: there are too many names, and the lock is not
	 * usable.  Raises an error if the server has no memory or tranche left.
	 */
	bool		(*init) (WscLock *lock, const char *name);

	/*
	 * Returns with the lock.  Not for a lock that the process holds.  Raises
	 * an error before the attempt if WSC_LOCK_MAX_HELD are held, and in a
	 * process without PGPROC (the postmaster) if it would have to wait.
	 */
	void		(*acquire) (WscLock *lock, WscLockMode mode);

	/* Without waiting; false: not got.  In every process. */
	bool		(*try_acquire) (WscLock *lock, WscLockMode mode);

	/* In any order.  Raises an error if the process does not hold it. */
	void		(*release) (WscLock *lock);

	bool		(*held_by_me) (const WscLock *lock);

	/*
	 * All that the process holds.  Only for the error block (sigsetjmp) of a
	 * background worker: elsewhere aborts and exits do it.
	 */
	void		(*release_all) (void);

	/*
	 * After init, before the lock is used: from when a writer has queued
	 * until it has the lock, no reader gets it.  Costs throughput where
	 * readers and writers mix.
	 */
	void		(*prefer_writers) (WscLock *lock);
} WscLockApi;

/*
 * NULL: pg_waitscope is not preloaded, or it is an older one.  From
 * shmem_startup_hook on, in each process that wants to use the API; what the
 * postmaster found, its children inherit.
 *
 * To make do with version n, ask for n and the end of its last field.
 */
static inline const WscLockApi *
WscFindLockApi(uint32 version, Size size)
{
	const WscLockApi *api;

	api = (const WscLockApi *) *find_rendezvous_variable(WSC_LOCK_API_NAME);
	if (api == NULL || api->version < version || api->size < size)
		return NULL;
	if (api->lock_size > sizeof(WscLock))
		return NULL;
	return api;
}

/*
 * One lock or the other, settled by the process that makes it.  The LWLock is
 * the caller's, who initialises it if "lwlock" is set after the call.
 */
typedef struct WscEitherLock
{
	WscLock		lock;
	LWLock	   *lwlock;			/* used if not NULL */
} WscEitherLock;

static inline void
WscEitherLockInit(WscEitherLock *either, const WscLockApi *api,
				  const char *name, LWLock *fallback)
{
	if (api != NULL && api->init(&either->lock, name))
		either->lwlock = NULL;
	else
		either->lwlock = fallback;
}

static inline LWLockMode
WscEitherLWLockMode(WscLockMode mode)
{
	return mode == WSC_LOCK_SHARED ? LW_SHARED : LW_EXCLUSIVE;
}

static inline void
WscEitherLockAcquire(WscEitherLock *either, const WscLockApi *api,
					 WscLockMode mode)
{
	if (either->lwlock == NULL)
		api->acquire(&either->lock, mode);
	else
		LWLockAcquire(either->lwlock, WscEitherLWLockMode(mode));
}

static inline bool
WscEitherLockTryAcquire(WscEitherLock *either, const WscLockApi *api,
						WscLockMode mode)
{
	if (either->lwlock == NULL)
		return api->try_acquire(&either->lock, mode);
	return LWLockConditionalAcquire(either->lwlock, WscEitherLWLockMode(mode));
}

static inline void
WscEitherLockRelease(WscEitherLock *either, const WscLockApi *api)
{
	if (either->lwlock == NULL)
		api->release(&either->lock);
	else
		LWLockRelease(either->lwlock);
}

static inline bool
WscEitherLockHeldByMe(WscEitherLock *either, const WscLockApi *api)
{
	if (either->lwlock == NULL)
		return api->held_by_me(&either->lock);
	return LWLockHeldByMe(either->lwlock);
}

#endif							/* PG_WAITSCOPE_LOCK_H */
