/*-------------------------------------------------------------------------
 *
 * apiuser.h
 *	  A map in shared memory under a lock of pg_waitscope, or an LWLock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APIUSER_H
#define APIUSER_H

#include "extension/pg_waitscope/pg_waitscope_lock.h"
#include "port/atomics.h"

/* A key of 0 marks a free slot. */
typedef struct ApiUserSlot
{
	int32		key;
	int64		n;
} ApiUserSlot;

#define APIUSER_SLOTS 256
#define APIUSER_LOCKS 40

typedef struct ApiUserMap
{
	WscEitherLock lock;			/* guards slots */
	LWLock		lwlock;			/* without pg_waitscope */
	bool		ready;
	ApiUserSlot slots[APIUSER_SLOTS];

	/* for apiuser_test.c */
	pg_atomic_uint32 let_go;
	WscLock		more[APIUSER_LOCKS];
} ApiUserMap;

/* NULL in a process whose lock is an LWLock. */
extern const WscLockApi *apiuser_api;

/* The map; attached, or made, by the first call in a process. */
extern ApiUserMap *ApiUserAttach(void);

#endif							/* APIUSER_H */
