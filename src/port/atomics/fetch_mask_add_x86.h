/*-------------------------------------------------------------------------
 *
 * fetch_mask_add_x86.h
 *	  fetch_mask_add for x86 with GCC or Clang.
 *
 * There is no such instruction: this is the loop on lock cmpxchg as well, but
 * through the compiler's builtin.  The server's inline assembly has to put the
 * flag that says how it went into a register, and to test it again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FETCH_MASK_ADD_X86_H
#define WSC_FETCH_MASK_ADD_X86_H

#include "port/atomics.h"

#include "port/atomics/fetch_mask_add_builtin.h"

#define WSC_NATIVE_FETCH_MASK_ADD
#define wsc_native_fetch_mask_add_u32_acquire \
	wsc_builtin_fetch_mask_add_u32_acquire

/*
 * Full barrier in both outcomes.  A locked instruction is one.  A refusal on
 * the strength of a plain read is not: the read may have overtaken earlier
 * writes.  So in that case a fence, and the decision again from what is read
 * behind it; x86 keeps reads in order with what follows them.
 */
static inline uint32
wsc_native_fetch_mask_add_u32(volatile pg_atomic_uint32 *ptr,
							  uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old = __atomic_load_n(&ptr->value, __ATOMIC_RELAXED);

	if ((old & mask) != 0)
	{
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		old = __atomic_load_n(&ptr->value, __ATOMIC_ACQUIRE);
	}
	while ((old & mask) == 0 &&
		   !__atomic_compare_exchange_n(&ptr->value, &old, old + add, false,
										__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		(*retries)++;
	return old;
}

#endif							/* WSC_FETCH_MASK_ADD_X86_H */
