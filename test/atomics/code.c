/*-------------------------------------------------------------------------
 *
 * code.c
 *	  Functions for tools/atomics to disassemble.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lock/fmlock_word.h"
#include "port/atomics/fetch_mask_add.h"

/*
 * An attempt to get the lock, with the operation inlined; and what somebody
 * would write in its place who had never heard of it.
 */
#define INLINED(form, name, mask, add) \
extern bool form##_##name(volatile pg_atomic_uint32 *ptr, uint32 *retries); \
bool \
form##_##name(volatile pg_atomic_uint32 *ptr, uint32 *retries) \
{ \
	return (wsc_##form##_fetch_mask_add_u32_acquire(ptr, mask, add, retries) & \
			(mask)) == 0; \
}

#define BY_HAND(name, read, swap, mask, add) \
extern bool name(volatile pg_atomic_uint32 *ptr, uint32 *retries); \
bool \
name(volatile pg_atomic_uint32 *ptr, uint32 *retries) \
{ \
	uint32		old = read(ptr); \
\
	while ((old & (mask)) == 0 && !swap(ptr, &old, old + (add))) \
		(*retries)++; \
	return (old & (mask)) == 0; \
}

#define SERVER_READ(ptr) pg_atomic_read_u32(ptr)
#define SERVER_SWAP(ptr, old, new) \
	pg_atomic_compare_exchange_u32(ptr, old, new)
#define COMPILER_READ(ptr) \
	__atomic_load_n(&(ptr)->value, __ATOMIC_RELAXED)
#define COMPILER_SWAP(ptr, old, new) \
	__atomic_compare_exchange_n(&(ptr)->value, old, new, false, \
								__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)

INLINED(generic, exclusive, FMLOCK_HELD, FMLOCK_WRITER)
INLINED(generic, shared, FMLOCK_WRITER, 1)
BY_HAND(server_exclusive, SERVER_READ, SERVER_SWAP,
		FMLOCK_HELD, FMLOCK_WRITER)
BY_HAND(server_shared, SERVER_READ, SERVER_SWAP, FMLOCK_WRITER, 1)

#ifdef WSC_NATIVE_FETCH_MASK_ADD
INLINED(native, exclusive, FMLOCK_HELD, FMLOCK_WRITER)
INLINED(native, shared, FMLOCK_WRITER, 1)
BY_HAND(compiler_exclusive, COMPILER_READ, COMPILER_SWAP,
		FMLOCK_HELD, FMLOCK_WRITER)
BY_HAND(compiler_shared, COMPILER_READ, COMPILER_SWAP, FMLOCK_WRITER, 1)
#endif

#ifdef WSC_LLSC_FETCH_MASK_ADD
INLINED(llsc, exclusive, FMLOCK_HELD, FMLOCK_WRITER)
INLINED(llsc, shared, FMLOCK_WRITER, 1)
#endif
