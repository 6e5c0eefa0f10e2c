/*-------------------------------------------------------------------------
 *
 * fetch_mask_add_arm.h
 *	  fetch_mask_add for AArch64 with GCC or Clang.
 *
 * Two forms.  The one in use is the loop on the compiler's compare-and-swap:
 * casa where the code is compiled for a CPU that has it, else a function of
 * the compiler's library that looks at run time what the CPU has, else
 * ldaxr and stxr.  The other, wsc_llsc_*, is a single loop of ldaxr and stxr;
 * it is there to be compared with, and for CPUs known to lack casa.  There a
 * store also fails when the reservation is lost for no reason that we could
 * see; that counts as a retry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FETCH_MASK_ADD_ARM_H
#define WSC_FETCH_MASK_ADD_ARM_H

#include "port/atomics.h"

#include "port/atomics/fetch_mask_add_builtin.h"

#define WSC_NATIVE_FETCH_MASK_ADD
#define wsc_native_fetch_mask_add_u32_acquire \
	wsc_builtin_fetch_mask_add_u32_acquire
#define WSC_LLSC_FETCH_MASK_ADD

/*
 * Full barrier in both outcomes.  No compare-and-swap is one here, neither
 * casal that fails nor stlxr, which a later read may overtake.  Hence dmb ish
 * on both sides: the first puts earlier writes before our read, also when
 * that is all we do, the second our write and read before what follows.
 */
static inline uint32
wsc_native_fetch_mask_add_u32(volatile pg_atomic_uint32 *ptr,
							  uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	old = wsc_native_fetch_mask_add_u32_acquire(ptr, mask, add, retries);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return old;
}

/* Order when added: acquire; when refused: none that is promised. */
static inline uint32
wsc_llsc_fetch_mask_add_u32_acquire(volatile pg_atomic_uint32 *ptr,
									uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old;
	uint32		tmp;
	uint32		fail;
	int32		tries = -1;

	__asm__ __volatile__(
						 "1:	add		%w[tries], %w[tries], #1		\n"
						 "	ldaxr	%w[old], %[ptr]					\n"
						 "	tst		%w[old], %w[mask]				\n"
						 "	b.ne	2f								\n"
						 "	add		%w[tmp], %w[old], %w[add]		\n"
						 "	stxr	%w[fail], %w[tmp], %[ptr]		\n"
						 "	cbnz	%w[fail], 1b					\n"
						 "2:										\n"
:						 [old] "=&r"(old),[tmp] "=&r"(tmp),
						 [fail] "=&r"(fail),[tries] "+&r"(tries),
						 [ptr] "+Q"(ptr->value)
:						 [mask] "r"(mask),[add] "r"(add)
:						 "memory", "cc");
	*retries += (uint32) tries;
	return old;
}

/* Full barrier in both outcomes, as above. */
static inline uint32
wsc_llsc_fetch_mask_add_u32(volatile pg_atomic_uint32 *ptr,
							uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old;
	uint32		tmp;
	uint32		fail;
	int32		tries = -1;

	__asm__ __volatile__(
						 "	dmb		ish								\n"
						 "1:	add		%w[tries], %w[tries], #1		\n"
						 "	ldxr	%w[old], %[ptr]					\n"
						 "	tst		%w[old], %w[mask]				\n"
						 "	b.ne	2f								\n"
						 "	add		%w[tmp], %w[old], %w[add]		\n"
						 "	stxr	%w[fail], %w[tmp], %[ptr]		\n"
						 "	cbnz	%w[fail], 1b					\n"
						 "2:	dmb		ish								\n"
:						 [old] "=&r"(old),[tmp] "=&r"(tmp),
						 [fail] "=&r"(fail),[tries] "+&r"(tries),
						 [ptr] "+Q"(ptr->value)
:						 [mask] "r"(mask),[add] "r"(add)
:						 "memory", "cc");
	*retries += (uint32) tries;
	return old;
}

#endif							/* WSC_FETCH_MASK_ADD_ARM_H */
