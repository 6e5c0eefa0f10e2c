/*-------------------------------------------------------------------------
 *
 * shmem_compat.c
 *	  Hooks through which shared memory is asked for and attached.
 *
 * 15 brought shmem_request_hook; before, the request is made on the spot.
 * Other modules' hooks are called first, so that preload order is free.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/shmem_compat.h"

static void (*request_callback) (void);
static void (*startup_callback) (void);
static shmem_startup_hook_type prev_startup_hook;
static bool attached;

#if PG_VERSION_NUM >= 150000
static shmem_request_hook_type prev_request_hook;

static void
request_shmem(void)
{
	if (prev_request_hook)
		prev_request_hook();
	request_callback();
}
#endif

/* Before the postmaster makes new shared memory after a crash. */
static void
forget_shmem(int code, Datum arg)
{
	attached = false;
}

void
WscAttachShmem(void)
{
	bool		locked;

	if (attached)
		return;

	locked = LWLockHeldByMe(AddinShmemInitLock);
	if (!locked)
		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	startup_callback();
	if (!locked)
		LWLockRelease(AddinShmemInitLock);
	attached = true;
	on_shmem_exit(forget_shmem, (Datum) 0);
}

static void
start_shmem(void)
{
	if (prev_startup_hook)
		prev_startup_hook();
	WscAttachShmem();
}

void
WscInstallShmemHooks(void (*request) (void), void (*startup) (void))
{
	request_callback = request;
	startup_callback = startup;
#if PG_VERSION_NUM >= 150000
	prev_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
#else
	request_callback();
#endif
	prev_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shmem;
}
