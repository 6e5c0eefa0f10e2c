/*-------------------------------------------------------------------------
 *
 * worker_life.h
 *	  What the workers that are always there have in common: their life.
 *
 * A worker starts when the server is consistent, also on a standby, shows in
 * pg_stat_activity under its name, and is in no database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_WORKER_LIFE_H
#define WSC_WORKER_LIFE_H

/* While the library is preloaded; function is exported by this library. */
extern void WscWorkerRegister(const char *name, const char *function);

/* First thing in a worker: signals, connection. */
extern void WscWorkerBegin(void);

/* After each sleep.  False: the worker is to end; else it may have reloaded. */
extern bool WscWorkerGoesOn(bool *reloaded);

/*
 * Ends the worker.  Exit code 1 makes the postmaster start it again after a
 * second; 0 would remove it for good, also when somebody only meant to end
 * one process.  In a shutdown it makes no difference.
 */
extern void WscWorkerEnd(void);

#endif							/* WSC_WORKER_LIFE_H */
