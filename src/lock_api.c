/*-------------------------------------------------------------------------
 *
 * lock_api.c
 *	  Offers our locks to other extensions.
 *
 * Offered where the library is preloaded, since nothing works without the
 * shared memory.  Another library's startup hook may run before ours, so a
 * lock is not made before ours has been attached.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lock_api.h"
#include "extension/pg_waitscope/pg_waitscope_lock.h"
#include "lock/fmlock.h"
#include "port/shmem_compat.h"

StaticAssertDecl(sizeof(FmLock) <= sizeof(WscLock),
				 "a lock must fit into the room that others have for it");
StaticAssertDecl(WSC_LOCK_MAX_HELD == FMLOCK_MAX_HELD &&
				 (int) WSC_LOCK_EXCLUSIVE == (int) FMLOCK_EXCLUSIVE &&
				 (int) WSC_LOCK_SHARED == (int) FMLOCK_SHARED,
				 "the installed header must agree with the lock's own");

static bool
init_lock(WscLock *lock, const char *name)
{
	WscAttachShmem();
	return FmLockTryInit((FmLock *) lock, name);
}

static void
acquire_lock(WscLock *lock, WscLockMode mode)
{
	FmLockAcquire((FmLock *) lock, (FmLockMode) mode);
}

static bool
try_acquire_lock(WscLock *lock, WscLockMode mode)
{
	return FmLockConditionalAcquire((FmLock *) lock, (FmLockMode) mode);
}

static void
release_lock(WscLock *lock)
{
	FmLockRelease((FmLock *) lock);
}

static bool
lock_is_held_by_me(const WscLock *lock)
{
	return FmLockHeldByMe((const FmLock *) lock);
}

static void
prefer_writers(WscLock *lock)
{
	FmLockPreferWriters((FmLock *) lock);
}

static WscLockApi lock_api =
{
	.version = WSC_LOCK_API_VERSION,
	.size = sizeof(WscLockApi),
	.lock_size = sizeof(FmLock),
	.lock_align = MAXIMUM_ALIGNOF,
	.init = init_lock,
	.acquire = acquire_lock,
	.try_acquire = try_acquire_lock,
	.release = release_lock,
	.held_by_me = lock_is_held_by_me,
	.release_all = FmLockReleaseAll,
	.prefer_writers = prefer_writers,
};

void
WscPublishLockApi(void)
{
	*find_rendezvous_variable(WSC_LOCK_API_NAME) = &lock_api;
}
