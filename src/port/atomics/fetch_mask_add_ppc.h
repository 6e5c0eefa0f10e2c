/*-------------------------------------------------------------------------
 *
 * fetch_mask_add_ppc.h
 *	  fetch_mask_add for POWER, 32 and 64 bit, with GCC or Clang.
 *
 * A compare-and-swap is a loop of lwarx and stwcx. already, so a loop around
 * it is a loop in a loop, and the server's has a sync in it which an acquire
 * does not need.  Here any test may stand between lwarx and stwcx., so one
 * loop does.
 *
 * The pointer is the second of the two registers that make up an address,
 * where r0 means r0; the count is operand of addi, where r0 would mean zero,
 * hence "b".  A store also fails when the reservation is lost for no reason
 * that we could see; that counts as a retry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FETCH_MASK_ADD_PPC_H
#define WSC_FETCH_MASK_ADD_PPC_H

#include "port/atomics.h"

#define WSC_NATIVE_FETCH_MASK_ADD
#define wsc_native_fetch_mask_add_u32_acquire wsc_ppc_fetch_mask_add_u32_acquire
#define wsc_native_fetch_mask_add_u32 wsc_ppc_fetch_mask_add_u32

/*
 * Order when added: acquire, by isync behind the conditional branch; when
 * refused: none.
 */
static inline uint32
wsc_ppc_fetch_mask_add_u32_acquire(volatile pg_atomic_uint32 *ptr,
								   uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old;
	uint32		tmp;
	int32		tries = -1;

	__asm__ __volatile__(
						 "1:	addi	%[tries],%[tries],1		\n"
						 "	lwarx	%[old],0,%[ptr]			\n"
						 "	and.	%[tmp],%[old],%[mask]	\n"
						 "	bne-	2f						\n"
						 "	add		%[tmp],%[old],%[add]	\n"
						 "	stwcx.	%[tmp],0,%[ptr]			\n"
						 "	bne-	1b						\n"
						 "	isync							\n"
						 "2:								\n"
:						 [old] "=&r"(old),[tmp] "=&r"(tmp),
						 [tries] "+&b"(tries), "+m"(ptr->value)
:						 [ptr] "r"(&ptr->value),[mask] "r"(mask),
						 [add] "r"(add)
:						 "memory", "cr0");
	*retries += (uint32) tries;
	return old;
}

/*
 * Full barrier in both outcomes.  The first sync puts earlier writes before
 * our read, also when that is all we do; the second puts our write and read
 * before what follows, which isync and lwsync do not do for a later read.
 */
static inline uint32
wsc_ppc_fetch_mask_add_u32(volatile pg_atomic_uint32 *ptr,
						   uint32 mask, uint32 add, uint32 *retries)
{
	uint32		old;
	uint32		tmp;
	int32		tries = -1;

	__asm__ __volatile__(
						 "	sync							\n"
						 "1:	addi	%[tries],%[tries],1		\n"
						 "	lwarx	%[old],0,%[ptr]			\n"
						 "	and.	%[tmp],%[old],%[mask]	\n"
						 "	bne-	2f						\n"
						 "	add		%[tmp],%[old],%[add]	\n"
						 "	stwcx.	%[tmp],0,%[ptr]			\n"
						 "	bne-	1b						\n"
						 "2:	sync							\n"
:						 [old] "=&r"(old),[tmp] "=&r"(tmp),
						 [tries] "+&b"(tries), "+m"(ptr->value)
:						 [ptr] "r"(&ptr->value),[mask] "r"(mask),
						 [add] "r"(add)
:						 "memory", "cr0");
	*retries += (uint32) tries;
	return old;
}

#endif							/* WSC_FETCH_MASK_ADD_PPC_H */
