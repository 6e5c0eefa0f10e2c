/*-------------------------------------------------------------------------
 *
 * buffers.h
 *	  Who waits for the content of which buffer, 13 to 19.
 *
 * Read from the headers of the shared buffers without any lock, while their
 * owners write.  Only what is public is read: the tag, the head of the list
 * of waiters and its links, never the bits of a lock's state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_BUFFERS_H
#define WSC_BUFFERS_H

#include "storage/buf_internals.h"

#include "port/compat.h"

/* A block of a relation's fork, as pg_buffercache names its parts. */
typedef struct WscBlock
{
	Oid			reltablespace;
	Oid			datid;			/* InvalidOid: shared by all databases */
	Oid			relfilenode;
	int32		relforknumber;
	uint32		relblocknumber;
} WscBlock;

/* The waiters for one block at one moment. */
typedef struct WscBlockWait
{
	WscBlock	block;
	int32		waiters;
	int32		shared;			/* of them, waiting for shared mode */
	int32		exclusive;
} WscBlockWait;

/* 17 renamed the end of a list, and gave it another value. */
#if PG_VERSION_NUM >= 170000
#define WSC_LIST_END INVALID_PROC_NUMBER
#else
#define WSC_LIST_END INVALID_PGPROCNO
#endif

static inline int
WscNumBuffers(void)
{
	return NBuffers;
}

/* Since 19 the lock of a buffer's content is no LWLock. */
static inline int
WscBufferFirstWaiter(int buffer)
{
	const BufferDesc *desc = GetBufferDescriptor((uint32) buffer);
#if PG_VERSION_NUM >= 190000
	return *(volatile const int *) &desc->lock_waiters.head;
#else
	return *(volatile const int *) &desc->content_lock.waiters.head;
#endif
}

/* False: nobody waits for it, or it got another block meanwhile. */
extern bool WscBufferRead(int buffer, WscBlockWait *wait);

#endif							/* WSC_BUFFERS_H */
