/*-------------------------------------------------------------------------
 *
 * sample.h
 *	  What a sample and a tick are.  Types only.
 *
 * A sample is one process seen at one instant.  It holds no text and no
 * pointer, so that it can be copied into shared memory as it stands.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_SAMPLE_H
#define WSC_SAMPLE_H

#include "datatype/timestamp.h"

/*
 * What a process counts as.  Decided per sample, wait event first, by the
 * table in state_class.c.
 */
typedef enum WscStateClass
{
	WSC_FOREGROUND,				/* load: works or waits for a client's sake */
	WSC_IDLE_IN_TRANSACTION,
	WSC_IDLE,
	WSC_BACKGROUND,				/* server processes at work */
	WSC_BACKGROUND_IDLE,		/* server processes waiting for work */
	WSC_HIDDEN					/* track_activities off and no wait shown */
} WscStateClass;

#define WSC_NUM_STATE_CLASSES (WSC_HIDDEN + 1)

typedef enum WscLWLockMode
{
	WSC_LWLOCK_NONE,			/* not waiting for an LWLock, or not known */
	WSC_LWLOCK_EXCLUSIVE,
	WSC_LWLOCK_SHARED,
	WSC_LWLOCK_UNTIL_FREE,
	WSC_LWLOCK_SHARE_EXCLUSIVE	/* of a buffer's content, since 19 */
} WscLWLockMode;

/* No heavyweight lock in the sample; other values are LockTagType + 1. */
#define WSC_LOCKTYPE_NONE 0

/*
 * Id of a wait event in the event dictionary.  Codes of wait events are
 * spread over 32 bits and are only good inside one run of the server.
 */
typedef uint16 WscEventId;

#define WSC_MAX_EVENTS 1024		/* ids are below */

#define WSC_EVENT_CPU	0		/* no wait reported */
#define WSC_EVENT_OTHER 1		/* the dictionary was full */

typedef struct WscSample
{
	int64		queryid;		/* 0: none, or not active */
	int32		pid;
	int32		leader_pid;		/* of a parallel worker; 0: none */
	Oid			datid;			/* InvalidOid: none */
	Oid			usesysid;		/* InvalidOid: none */
	uint32		wait_event_info;	/* as reported; 0: no wait */
	Oid			lock_datid;		/* of a heavyweight lock; InvalidOid: none */
	Oid			lock_relid;
	WscEventId	event;			/* filled in by the sampler after the scan */
	uint8		backend_type;	/* BackendType */
	uint8		state_class;	/* WscStateClass */
	uint8		lwlock_mode;	/* WscLWLockMode */
	uint8		locktype;		/* LockTagType + 1, or WSC_LOCKTYPE_NONE */
	uint8		lock_mode;		/* LOCKMODE wanted; 0: none */
	uint8		flags;			/* WSC_SAMPLE_* */
	int32		slot;			/* in the process array */
} WscSample;

#define WSC_SAMPLE_NO_STATUS 0x01	/* status entry unreadable: starting up */

/* One look at the process array. */
typedef struct WscTick
{
	TimestampTz sampled_at;
	int64		mono_ns;		/* same moment, CLOCK_MONOTONIC */
	int64		weight_ns;		/* time this tick stands for */
	uint32		counts[WSC_NUM_STATE_CLASSES];	/* processes of each class */
} WscTick;

#endif							/* WSC_SAMPLE_H */
