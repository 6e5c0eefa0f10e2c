/*-------------------------------------------------------------------------
 *
 * fetch_mask_add_generic.h
 *	  fetch_mask_add on the server's compare-and-swap: any CPU, any compiler.
 *
 * The word is read once, before the loop: a failed compare-and-swap returns
 * the value it found, and reading again would only widen the race.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FETCH_MASK_ADD_GENERIC_H
#define WSC_FETCH_MASK_ADD_GENERIC_H

#include "port/atomics.h"

/*
 * Order when added: the server promises a full barrier of its compare-and-
 * swap; what all its implementations have, and all we need, is acquire.
 * Order when refused: none.
 */
static inline uint32
wsc_generic_fetch_mask_add_u32_acquire(volatile pg_atomic_uint32 *ptr,
									   uint32 mask, uint32 add,
									   uint32 *retries)
{
	uint32		old = pg_atomic_read_u32(ptr);

	while ((old & mask) == 0 &&
		   !pg_atomic_compare_exchange_u32(ptr, &old, old + add))
		(*retries)++;
	return old;
}

/*
 * Full barrier in both outcomes.  The first barrier puts earlier writes
 * before our read, also when that is all we do; the second puts our write
 * before later reads, which ldaxr/stlxr on AArch64 and a trailing isync on
 * POWER do not.
 */
static inline uint32
wsc_generic_fetch_mask_add_u32(volatile pg_atomic_uint32 *ptr,
							   uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old;

	pg_memory_barrier();
	old = wsc_generic_fetch_mask_add_u32_acquire(ptr, mask, add, retries);
	pg_memory_barrier();
	return old;
}

#endif							/* WSC_FETCH_MASK_ADD_GENERIC_H */
