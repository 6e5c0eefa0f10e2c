/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Background workers that run a function of this library.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_WORKER_H
#define WSC_WORKER_H

#include "postmaster/bgworker.h"

/*
 * Fills in what all our workers have in common: what they run, their name,
 * and that they show in pg_stat_activity.
 */
extern void WscWorkerInit(BackgroundWorker *worker, const char *function,
						  const char *name);

/* CPU time of this process in nanoseconds. */
extern int64 WscCpuTime(void);

#endif							/* WSC_WORKER_H */
