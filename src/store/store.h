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
 *-------------------------------------------------------------------------
 */
#ifndef WSC_STORE_H
#define WSC_STORE_H

#include "datatype/timestamp.h"
#include "port/atomics.h"

typedef struct WscStoreInfo
{
	int64		entries;
	int64		max_entries;
	int64		span_ns;		/* time from oldest to newest; -1: no notion */
	int64		evictions;		/* entries that made room; -1: never evicts */
	int64		overwritten;	/* records lost under readers; -1: never */
	TimestampTz stats_reset;
} WscStoreInfo;

typedef struct WscGeneration
{
	pg_atomic_uint64 wanted;	/* anyone adds 1 */
	pg_atomic_uint64 adopted;	/* the store's writer copies wanted */
	pg_atomic_uint64 reset_at;	/* TimestampTz of the last reset */
} WscGeneration;

static inline void
WscGenerationInit(WscGeneration *gen, TimestampTz now)
{
	pg_atomic_init_u64(&gen->wanted, 0);
	pg_atomic_init_u64(&gen->adopted, 0);
	pg_atomic_init_u64(&gen->reset_at, (uint64) now);
}

/* Any process.  Takes effect at once. */
static inline void
WscGenerationReset(WscGeneration *gen, TimestampTz now)
{
	pg_atomic_write_u64(&gen->reset_at, (uint64) now);
	pg_atomic_fetch_add_u64(&gen->wanted, 1);	/* full barrier */
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

static inline void
WscGenerationAdopt(WscGeneration *gen, uint64 wanted)
{
	pg_write_barrier();			/* the clearing before the adoption */
	pg_atomic_write_u64(&gen->adopted, wanted);
}

#endif							/* WSC_STORE_H */
