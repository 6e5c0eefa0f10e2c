/*-------------------------------------------------------------------------
 *
 * state_class.h
 *	  What a process counts as: load, idle, background.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_STATE_CLASS_H
#define WSC_STATE_CLASS_H

#include "port/compat.h"
#include "sample/sample.h"

/* Who waits, as far as it matters here. */
typedef enum WscProcKind
{
	WSC_KIND_CLIENT,			/* client backend or parallel worker */
	WSC_KIND_WALSENDER,
	WSC_KIND_WORKER,			/* background worker, not of a query */
	WSC_KIND_SERVER				/* all other processes of the server */
} WscProcKind;

/*
 * STATE_UNDEFINED stands also for a status that could not be read.
 */
extern WscStateClass WscClassify(WscProcKind kind, BackendState state,
								 uint32 wait_event_info);

/* As views spell it. */
extern const char *WscStateClassName(WscStateClass state_class);

#endif							/* WSC_STATE_CLASS_H */
