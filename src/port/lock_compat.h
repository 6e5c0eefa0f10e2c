/*-------------------------------------------------------------------------
 *
 * lock_compat.h
 *	  What a lock needs of the server: process numbers, tranches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_COMPAT_H
#define WSC_LOCK_COMPAT_H

#include "storage/lwlock.h"
#include "storage/proc.h"

/* MAX_BACKENDS moved in 18. */
#if PG_VERSION_NUM >= 180000
#include "storage/procnumber.h"
#else
#include "postmaster/postmaster.h"
#endif

#include "port/compat.h"

/*
 * This process's index in the process array; only with MyProc set.  17 took
 * it out of PGPROC.
 */
static inline int
WscMyProcNumber(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProcNumber;
#else
	return MyProc->pgprocno;
#endif
}

/*
 * Before 19 a tranche's name is known to the processes that registered it
 * and to their children, by reference; since then to all.
 */
static inline void
WscRegisterTranche(int tranche, const char *name)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, name);
#else
	(void) tranche;
	(void) name;
#endif
}

static inline int
WscNewTranche(const char *name)
{
#if PG_VERSION_NUM < 190000
	int			tranche = LWLockNewTrancheId();

	LWLockRegisterTranche(tranche, name);
	return tranche;
#else
	return LWLockNewTrancheId(name);
#endif
}

/*
 * Reports a wait for a lock of ours as one for an LWLock, with its mode:
 * others read both from our PGPROC, the event first.  The server sets the
 * mode before it waits and reads it only in its own wait lists.
 */
static inline void
WscReportLockWait(uint32 wait_event_info, bool exclusive)
{
	MyProc->lwWaitMode = exclusive ? LW_EXCLUSIVE : LW_SHARED;
	pg_write_barrier();			/* pairs with WscScanSlot() */
	pgstat_report_wait_start(wait_event_info);
}

#endif							/* WSC_LOCK_COMPAT_H */
