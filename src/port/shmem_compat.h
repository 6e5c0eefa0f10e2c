/*-------------------------------------------------------------------------
 *
 * shmem_compat.h
 *	  One way to ask for shared memory, 13 to 19.
 *
 * WscInstallShmemHooks() is called once while the library is preloaded.  The
 * request callback runs when the number of processes is known, the startup
 * callback in every process that attaches (under AddinShmemInitLock).
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_SHMEM_COMPAT_H
#define WSC_SHMEM_COMPAT_H

#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"

/*
 * Slots of the process array without those of prepared transactions, at a
 * moment when ProcGlobal need not exist yet.  Before 15 the request is made
 * in _PG_init, where MaxBackends is still 0: add up what it is made of.
 */
static inline int
WscMaxProcs(void)
{
#if PG_VERSION_NUM >= 150000
	return MaxBackends + NUM_AUXILIARY_PROCS;
#else
	return MaxConnections + autovacuum_max_workers + 1 +
		max_worker_processes + max_wal_senders + NUM_AUXILIARY_PROCS;
#endif
}

extern void WscInstallShmemHooks(void (*request) (void),
								 void (*startup) (void));

/*
 * For what another module's startup hook wants of us, which may run before
 * ours: does what that will do, unless it has been done.
 */
extern void WscAttachShmem(void);

#endif							/* WSC_SHMEM_COMPAT_H */
