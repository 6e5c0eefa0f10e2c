/*-------------------------------------------------------------------------
 *
 * spin_variants.h
 *	  Ways to take and give back a spinlock, for comparing them.
 *
 * Each attempt returns true if and only if the word was 0 and is 1 now; then
 * it is an acquire barrier.  Those of a single CPU exist on every machine, so
 * that a table of them needs no conditions; where they cannot run, the
 * function beside them says why, and the attempt is never called.
 *
 * tas is what the server's spinlocks are made of: an exchange, on POWER the
 * loop of lwarx and stwcx., here without the hint.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_SPIN_VARIANTS_H
#define WSC_SPIN_VARIANTS_H

#include "port/atomics.h"

#if defined(__aarch64__) && defined(__GNUC__)
#define WSC_SPIN_ARM
#ifdef __linux__
#include <sys/auxv.h>
#include <asm/hwcap.h>
#endif
#elif (defined(__powerpc__) || defined(__powerpc64__)) && \
	defined(__GNUC__) && !defined(_AIX)
#define WSC_SPIN_POWER
#endif

#ifdef WSC_SPIN_POWER
/* The hint (EH) tells that who gets the word will soon write it again. */
#define WSC_POWER_TAS(word, taken, hint) \
	__asm__ __volatile__( \
						 "1:	lwarx	%[old],0,%[ptr]," hint "	\n" \
						 "	cmpwi	%[old],0						\n" \
						 "	bne-	2f								\n" \
						 "	stwcx.	%[one],0,%[ptr]					\n" \
						 "	bne-	1b								\n" \
						 "	isync									\n" \
						 "2:										\n" \
:						 [old] "=&r"(taken), "+m"((word)->value) \
:						 [ptr] "r"(&(word)->value),[one] "r"(1) \
:						 "memory", "cr0")
#endif

static inline bool
wsc_tas(pg_atomic_uint32 *word)
{
#if defined(WSC_SPIN_POWER)
	uint32		taken;

	WSC_POWER_TAS(word, taken, "0");
	return taken == 0;
#elif defined(__GNUC__)
	return __atomic_exchange_n(&word->value, 1, __ATOMIC_ACQUIRE) == 0;
#else
	return pg_atomic_exchange_u32(word, 1) == 0;
#endif
}

static inline bool
wsc_cas(pg_atomic_uint32 *word)
{
	uint32		expected = 0;

#ifdef __GNUC__
	return __atomic_compare_exchange_n(&word->value, &expected, 1, false,
									   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
#else
	return pg_atomic_compare_exchange_u32(word, &expected, 1);
#endif
}

/* Release barrier. */
static inline void
wsc_spin_release(pg_atomic_uint32 *word)
{
#ifdef __GNUC__
	__atomic_store_n(&word->value, 0, __ATOMIC_RELEASE);
#else
	pg_memory_barrier();
	pg_atomic_write_u32(word, 0);
#endif
}

static inline bool
wsc_tas_hint(pg_atomic_uint32 *word)
{
#ifdef WSC_SPIN_POWER
	uint32		taken;

	WSC_POWER_TAS(word, taken, "1");
	return taken == 0;
#else
	(void) word;
	return false;
#endif
}

static inline const char *
wsc_why_no_tas_hint(void)
{
#ifdef WSC_SPIN_POWER
	return NULL;
#else
	return "needs lwarx with a hint, which POWER has";
#endif
}

static inline bool
wsc_cas_llsc(pg_atomic_uint32 *word)
{
#ifdef WSC_SPIN_ARM
	uint32		old;
	uint32		fail;

	__asm__ __volatile__(
						 "1:	ldaxr	%w[old], %[ptr]				\n"
						 "	cbnz	%w[old], 2f						\n"
						 "	stxr	%w[fail], %w[one], %[ptr]		\n"
						 "	cbnz	%w[fail], 1b					\n"
						 "2:										\n"
:						 [old] "=&r"(old),[fail] "=&r"(fail),
						 [ptr] "+Q"(word->value)
:						 [one] "r"(1)
:						 "memory");
	return old == 0;
#else
	(void) word;
	return false;
#endif
}

static inline const char *
wsc_why_no_cas_llsc(void)
{
#ifdef WSC_SPIN_ARM
	return NULL;
#else
	return "needs ldaxr and stxr, which AArch64 has";
#endif
}

static inline bool
wsc_cas_lse(pg_atomic_uint32 *word)
{
#ifdef WSC_SPIN_ARM
	uint32		old = 0;

	__asm__ __volatile__(
						 "	.arch_extension lse						\n"
						 "	casa	%w[old], %w[one], %[ptr]		\n"
:						 [old] "+&r"(old),[ptr] "+Q"(word->value)
:						 [one] "r"(1)
:						 "memory");
	return old == 0;
#else
	(void) word;
	return false;
#endif
}

static inline const char *
wsc_why_no_cas_lse(void)
{
#if defined(WSC_SPIN_ARM) && defined(__ARM_FEATURE_ATOMICS)
	return NULL;
#elif defined(WSC_SPIN_ARM) && defined(__linux__)
	return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0 ? NULL :
		"needs casa, which this CPU has not";
#else
	return "needs casa, which AArch64 from version 8.1 on has";
#endif
}

#endif							/* WSC_SPIN_VARIANTS_H */
