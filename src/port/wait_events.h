/*-------------------------------------------------------------------------
 *
 * wait_events.h
 *	  Wait events that the code knows by name, 13 to 19.
 *
 * Their numbers move from version to version; some of their macros do, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_WAIT_EVENTS_H
#define WSC_WAIT_EVENTS_H

#include "port/compat.h"

/* 18 moved the classes out of wait_event.h. */
#if PG_VERSION_NUM >= 180000
#include "utils/wait_classes.h"
#endif

#define WSC_WAIT_CLASS(event) ((event) & 0xFF000000U)

/* 17 renamed it. */
#if PG_VERSION_NUM >= 170000
#define WSC_WAIT_WAL_SENDER_WAIT_WAL WAIT_EVENT_WAL_SENDER_WAIT_FOR_WAL
#else
#define WSC_WAIT_WAL_SENDER_WAIT_WAL WAIT_EVENT_WAL_SENDER_WAIT_WAL
#endif

/*
 * A wait event of that name for our own sleep.  17 has named events for
 * extensions; before, and when their number is used up, there is one event
 * for all extensions.  Not while holding an LWLock.
 */
extern uint32 WscNewWaitEvent(const char *name);

/* Sleeps that pace work: no work is waiting for them to end. */
static inline bool
WscWaitIsPacing(uint32 event)
{
	switch (event)
	{
		case WAIT_EVENT_BASE_BACKUP_THROTTLE:
		case WAIT_EVENT_RECOVERY_APPLY_DELAY:
		case WAIT_EVENT_RECOVERY_RETRIEVE_RETRY_INTERVAL:
		case WAIT_EVENT_VACUUM_DELAY:
#if PG_VERSION_NUM >= 140000	/* 13 shows no event there */
		case WAIT_EVENT_CHECKPOINT_WRITE_DELAY:
#endif
			return true;
		default:
			return false;
	}
}

#endif							/* WSC_WAIT_EVENTS_H */
