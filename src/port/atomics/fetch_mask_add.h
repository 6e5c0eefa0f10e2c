/*-------------------------------------------------------------------------
 *
 * fetch_mask_add.h
 *	  Atomic add that happens only while masked bits are clear.
 *
 * The operation returns the value *ptr had before.  It adds if and only if
 * (that value & mask) == 0; so the caller learns from the returned value
 * whether it did.  With mask 0 it is a fetch-and-add.  The sum wraps around;
 * keeping it in range is up to the caller.  When it does not add it does not
 * write either, so that attempts while the bits are set leave the cache line
 * shared.
 *
 * The order is stated for both outcomes:
 *
 *	wsc_fetch_mask_add_u32_acquire
 *		added: acquire (no later access moves before it)
 *		refused: none
 *
 *	wsc_fetch_mask_add_u32
 *		added: full barrier
 *		refused: full barrier, its own read included: no earlier write is
 *		still invisible when the value is read.  A refused operation that
 *		orders only what is around it would not do for "set my flag, then
 *		look at the other word".
 *
 * *retries is raised by the number of times our write failed because another
 * process had changed the word since our read.
 *
 * The type and the barriers are those of port/atomics.h, which comes first
 * and is never replaced.  The generic form exists everywhere beside the one
 * of the CPU; -DWSC_GENERIC_FETCH_MASK_ADD makes it the one in use.  Names
 * carry our prefix, since the server may get the operation one day; and so
 * do the files: the server's port/atomics.h would take a file of ours for its
 * own port/atomics/generic.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FETCH_MASK_ADD_H
#define WSC_FETCH_MASK_ADD_H

#include "port/atomics.h"

#include "port/atomics/fetch_mask_add_generic.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include "port/atomics/fetch_mask_add_x86.h"
#elif defined(__aarch64__) && defined(__GNUC__)
#include "port/atomics/fetch_mask_add_arm.h"
#elif (defined(__powerpc__) || defined(__powerpc64__)) && \
	defined(__GNUC__) && !defined(_AIX)
/* AIX's assembler knows no local numeric labels. */
#include "port/atomics/fetch_mask_add_ppc.h"
#endif

#if defined(WSC_NATIVE_FETCH_MASK_ADD) && !defined(WSC_GENERIC_FETCH_MASK_ADD)
#define wsc_fetch_mask_add_u32_acquire wsc_native_fetch_mask_add_u32_acquire
#define wsc_fetch_mask_add_u32 wsc_native_fetch_mask_add_u32
#else
#define wsc_fetch_mask_add_u32_acquire wsc_generic_fetch_mask_add_u32_acquire
#define wsc_fetch_mask_add_u32 wsc_generic_fetch_mask_add_u32
#endif

#endif							/* WSC_FETCH_MASK_ADD_H */
