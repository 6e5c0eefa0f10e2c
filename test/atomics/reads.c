/*-------------------------------------------------------------------------
 *
 * reads.c
 *	  Functions for tools/atomics to disassemble: what a lock guards must be
 *	  read again behind the operation.
 *
 * Its type is one that neither the word nor the count can be, so that only
 * the operation itself makes the compiler read twice.  GCC sees that it might
 * read once only if it looks before inlining: compile with
 * -fno-early-inlining, or a missing clobber is not found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/atomics/fetch_mask_add.h"

#define READ_TWICE(form, name, op) \
extern double form##_##name(double *data, volatile pg_atomic_uint32 *ptr, \
							uint32 *retries); \
double \
form##_##name(double *data, volatile pg_atomic_uint32 *ptr, uint32 *retries) \
{ \
	double		before = *data; \
\
	op(ptr, 1, 1, retries); \
	return before - *data; \
}

READ_TWICE(generic, read_acquire, wsc_generic_fetch_mask_add_u32_acquire)
READ_TWICE(generic, read_full, wsc_generic_fetch_mask_add_u32)
#ifdef WSC_NATIVE_FETCH_MASK_ADD
READ_TWICE(native, read_acquire, wsc_native_fetch_mask_add_u32_acquire)
READ_TWICE(native, read_full, wsc_native_fetch_mask_add_u32)
#endif
#ifdef WSC_LLSC_FETCH_MASK_ADD
READ_TWICE(llsc, read_acquire, wsc_llsc_fetch_mask_add_u32_acquire)
READ_TWICE(llsc, read_full, wsc_llsc_fetch_mask_add_u32)
#endif
