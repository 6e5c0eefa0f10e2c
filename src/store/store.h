/*-------------------------------------------------------------------------
 *
 * store.h
 *	  What all stores have in common: figures about themselves, reset.
 *
 * Reset without waiting: the requester raises "wanted"; the store's writer
 * clears the store and sets "adopted" when it next comes by.  Readers that
 * see the two differ take the store for empty.  So a reset has happened when
 * it returns, also while the writer is stopped or gone.
 *
 * Change counter, for pieces that are rewritten in place by one writer: it is
 * odd while the piece changes.
 *
 * Writer:	1. make it odd; write barrier
 *			2. change the piece
 *			3. write barrier; make it even
 * Reader:	1. read it, odd is a failure; read barrier
 *			2. copy the piece
 *			3. read barrier; read it again, different is a failure
 *
 * A reader tries again a number of times, sleeping between the last ones in
 * case the writer has lost its CPU, and then does without the piece and
 * counts that: a writer stopped in the middle of a change holds up nobody.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_STORE_H
#define WSC_STORE_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "sample/sample.h"

typedef struct WscStoreInfo
{
	int64		entries;
	int64		max_entries;
	int64		span_ns;		/* time from oldest to newest; -1: no notion */
	int64		evictions;		/* entries that made room; -1: never evicts */
	int64		overwritten;	/* pieces readers could not get; -1: no such */
	TimestampTz stats_reset;
} WscStoreInfo;

/*
 * Both are the moment of a reset, a TimestampTz, which only grows: so the
 * moment that is shown to users cannot belong to other data than those read.
 */
typedef struct WscGeneration
{
	pg_atomic_uint64 wanted;	/* anyone raises it */
	pg_atomic_uint64 adopted;	/* the store's writer copies wanted */
} WscGeneration;

static inline void
WscGenerationInit(WscGeneration *gen, TimestampTz now)
{
	pg_atomic_init_u64(&gen->wanted, (uint64) now);
	pg_atomic_init_u64(&gen->adopted, (uint64) now);
}

/* Any process.  Takes effect at once. */
static inline void
WscGenerationReset(WscGeneration *gen, TimestampTz now)
{
	uint64		old = pg_atomic_read_u64(&gen->wanted);
	bool		done;

	do
	{
		done = pg_atomic_compare_exchange_u64(&gen->wanted, &old,
											  Max((uint64) now, old + 1));
	} while (!done);
}

/* When the store was last reset, or made. */
static inline TimestampTz
WscGenerationTime(WscGeneration *gen)
{
	return (TimestampTz) pg_atomic_read_u64(&gen->wanted);
}

/*
 * Readers, before and after copying: is what is stored still wanted?  The
 * second look must come after a read barrier.
 */
static inline bool
WscGenerationValid(WscGeneration *gen)
{
	return pg_atomic_read_u64(&gen->wanted) ==
		pg_atomic_read_u64(&gen->adopted);
}

/*
 * The store's writer: must the store be cleared?  After clearing it calls
 * WscGenerationAdopt() with the value got here, so that a reset that comes
 * meanwhile is not lost.
 */
static inline bool
WscGenerationStale(WscGeneration *gen, uint64 *wanted)
{
	*wanted = pg_atomic_read_u64(&gen->wanted);
	return *wanted != pg_atomic_read_u64(&gen->adopted);
}

/*
 * False: the tick at hand was taken before the reset, and goes with what was
 * cleared.
 */
static inline bool
WscGenerationAdopt(WscGeneration *gen, uint64 wanted, TimestampTz sampled_at)
{
	pg_write_barrier();			/* the clearing before the adoption */
	pg_atomic_write_u64(&gen->adopted, wanted);
	return sampled_at >= (TimestampTz) wanted;
}

/* Does a sample count in totals?  Idle ones do not. */
static inline bool
WscIsCounted(const WscSample *sample)
{
	return sample->state_class == WSC_FOREGROUND ||
		sample->state_class == WSC_BACKGROUND;
}

/*
 * Lengths of waits: class 0 is below 1 ms, each other one twice as long as the
 * one before, the last one without an upper limit: from 2^21 ms, 35 minutes.
 */
#define WSC_LENGTH_CLASSES 23

static inline int
WscLengthClass(int64 length_ns)
{
	uint64		length_ms = (uint64) (length_ns / 1000000);

	if (length_ms == 0)
		return 0;
	return Min(pg_leftmost_one_pos64(length_ms) + 1, WSC_LENGTH_CLASSES - 1);
}

#define WSC_READ_TRIES 100
#define WSC_READ_NAPS 20		/* of 1 ms */

/* Shall a reader try again?  Count tries from 0. */
static inline bool
WscReadAgain(int *tries)
{
	if (++(*tries) >= WSC_READ_TRIES)
		pg_usleep(1000L);
	return *tries < WSC_READ_TRIES + WSC_READ_NAPS;
}

/*
 * Steps 1 and 3 of the writer.  A writer that left the counter odd for its
 * successor (it ended in the middle) does no harm: the piece stays unreadable
 * until it is next changed.
 */
static inline void
WscBeginChange(pg_atomic_uint32 *changes)
{
	pg_atomic_write_u32(changes, pg_atomic_read_u32(changes) | 1);
	pg_write_barrier();			/* odd before the change; pairs with
								 * WscEndRead() */
}

static inline void
WscEndChange(pg_atomic_uint32 *changes)
{
	pg_write_barrier();			/* the change before even; pairs with
								 * WscBeginRead() */
	pg_atomic_write_u32(changes, pg_atomic_read_u32(changes) + 1);
}

/* Steps 1 and 3 of the reader; false: try again. */
static inline bool
WscBeginRead(pg_atomic_uint32 *changes, uint32 *before)
{
	*before = pg_atomic_read_u32(changes);
	pg_read_barrier();			/* counter before the copy; pairs with
								 * WscEndChange() */
	return (*before & 1) == 0;
}

static inline bool
WscEndRead(pg_atomic_uint32 *changes, uint32 before)
{
	pg_read_barrier();			/* the copy before the counter; pairs with
								 * WscBeginChange() */
	return pg_atomic_read_u32(changes) == before;
}

#endif							/* WSC_STORE_H */
