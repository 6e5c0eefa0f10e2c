/*-------------------------------------------------------------------------
 *
 * worker_life.c
 *	  What the workers that are always there have in common: their life.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"

#include "worker_life.h"
#include "port/compat.h"
#include "port/worker.h"

void
WscWorkerRegister(const char *name, const char *function)
{
	BackgroundWorker worker;

	WscWorkerInit(&worker, function, name);
	worker.bgw_restart_time = 1;
	RegisterBackgroundWorker(&worker);
}

void
WscWorkerBegin(void)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGINT, PG_SIG_IGN);
	BackgroundWorkerUnblockSignals();

	/* No database: shows in pg_stat_activity and pins nothing. */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	ereport(LOG,
			(errmsg("%s started", MyBgworkerEntry->bgw_name)));
}

bool
WscWorkerGoesOn(bool *reloaded)
{
	CHECK_FOR_INTERRUPTS();
	*reloaded = ConfigReloadPending;
	if (ShutdownRequestPending)
		return false;
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return true;
}

void
WscWorkerEnd(void)
{
	ereport(LOG,
			(errmsg("%s ends on request", MyBgworkerEntry->bgw_name)));
	proc_exit(1);
}
