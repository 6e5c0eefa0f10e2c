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

#include "storage/lwlock.h"

#include "port/compat.h"
#include "storage/lwlock.h"

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

/*
 * Is it of a tranche that may have its name in some processes only?  Before
 * 19 in those that registered it, which need not be the one that waits.
 */
static inline bool
WscWaitNameIsPrivate(uint32 event)
{
#if PG_VERSION_NUM < 190000
	return WSC_WAIT_CLASS(event) == PG_WAIT_LWLOCK &&
		event - PG_WAIT_LWLOCK >= (uint32) LWTRANCHE_FIRST_USER_DEFINED;
#else
	(void) event;
	return false;
#endif
}

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

/*
 * Waits for the lock of a buffer's content.  Up to 18 it is an LWLock; since
 * 19 there is an event for each mode, and what PGPROC has for the mode of an
 * LWLock then holds a number of another kind.
 */
typedef enum WscBufferLockWait
{
	WSC_NO_BUFFER_LOCK,
	WSC_BUFFER_SHARED,
	WSC_BUFFER_SHARE_EXCLUSIVE,
	WSC_BUFFER_EXCLUSIVE
} WscBufferLockWait;

static inline WscBufferLockWait
WscWaitForBufferLock(uint32 event)
{
#if PG_VERSION_NUM >= 190000
	switch (event)
	{
		case WAIT_EVENT_BUFFER_SHARED:
			return WSC_BUFFER_SHARED;
		case WAIT_EVENT_BUFFER_SHARE_EXCLUSIVE:
			return WSC_BUFFER_SHARE_EXCLUSIVE;
		case WAIT_EVENT_BUFFER_EXCLUSIVE:
			return WSC_BUFFER_EXCLUSIVE;
	}
#else
	(void) event;
#endif
	return WSC_NO_BUFFER_LOCK;
}

/* The same, whatever the server calls it. */
static inline bool
WscWaitIsBufferContent(uint32 event)
{
#if PG_VERSION_NUM >= 190000
	return WscWaitForBufferLock(event) != WSC_NO_BUFFER_LOCK;
#else
	return event == (PG_WAIT_LWLOCK | LWTRANCHE_BUFFER_CONTENT);
#endif
}

/*
 * Waits of replay on a standby for what sessions there are doing, other than
 * those for a lock; of a process that does no replay the last is something
 * else.  17 and 19 renamed that.
 */
static inline bool
WscWaitIsRecoveryConflict(uint32 event)
{
#if PG_VERSION_NUM >= 190000
	uint32		cleanup = WAIT_EVENT_BUFFER_CLEANUP;
#elif PG_VERSION_NUM >= 170000
	uint32		cleanup = WAIT_EVENT_BUFFER_PIN;
#else
	uint32		cleanup = PG_WAIT_BUFFER_PIN;
#endif

	return event == WAIT_EVENT_RECOVERY_CONFLICT_SNAPSHOT ||
		event == WAIT_EVENT_RECOVERY_CONFLICT_TABLESPACE || event == cleanup;
}

#endif							/* WSC_WAIT_EVENTS_H */
