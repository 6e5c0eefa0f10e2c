/*-------------------------------------------------------------------------
 *
 * fetch_mask_add_builtin.h
 *	  fetch_mask_add on the compare-and-swap of GCC and Clang.
 *
 * The loop of the generic form, which asks for the order that it needs and
 * branches on the flag that the instruction sets.  For the headers of CPUs
 * where that is the best there is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FETCH_MASK_ADD_BUILTIN_H
#define WSC_FETCH_MASK_ADD_BUILTIN_H

#include "port/atomics.h"

/* Order when added: acquire; when refused: none. */
static inline uint32
wsc_builtin_fetch_mask_add_u32_acquire(volatile pg_atomic_uint32 *ptr,
									   uint32 mask, uint32 add,
									   uint32 *retries)
{
	uint32		old = __atomic_load_n(&ptr->value, __ATOMIC_RELAXED);

	while ((old & mask) == 0 &&
		   !__atomic_compare_exchange_n(&ptr->value, &old, old + add, false,
										__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		(*retries)++;
	return old;
}

#endif							/* WSC_FETCH_MASK_ADD_BUILTIN_H */
