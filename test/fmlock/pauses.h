/*-------------------------------------------------------------------------
 *
 * pauses.h
 *	  Random pauses between the steps of the lock's protocol.
 *
 * Compiled in front of the files of the lock: each access to shared memory
 * is preceded by a pause.  So interleavings come up in seconds that otherwise
 * need many processors and luck, most of all something happening between two
 * steps of a process that is not running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PAUSES_H
#define PAUSES_H

#include "postgres.h"

#include "storage/pg_sema.h"

#include "port/atomics/fetch_mask_add.h"

extern void FmTestPause(void);

#define pg_atomic_read_u32(ptr) \
	(FmTestPause(), pg_atomic_read_u32(ptr))
#define pg_atomic_write_u32(ptr, value) \
	(FmTestPause(), pg_atomic_write_u32(ptr, value))
#define pg_atomic_fetch_or_u32(ptr, value) \
	(FmTestPause(), pg_atomic_fetch_or_u32(ptr, value))
#define pg_atomic_fetch_and_u32(ptr, value) \
	(FmTestPause(), pg_atomic_fetch_and_u32(ptr, value))
#define pg_atomic_fetch_add_u32(ptr, value) \
	(FmTestPause(), pg_atomic_fetch_add_u32(ptr, value))
#define pg_atomic_fetch_sub_u32(ptr, value) \
	(FmTestPause(), pg_atomic_fetch_sub_u32(ptr, value))
#define pg_atomic_add_fetch_u32(ptr, value) \
	(FmTestPause(), pg_atomic_add_fetch_u32(ptr, value))
#define PGSemaphoreLock(sem) \
	(FmTestPause(), PGSemaphoreLock(sem))
#define PGSemaphoreUnlock(sem) \
	(FmTestPause(), PGSemaphoreUnlock(sem), FmTestPause())

#undef wsc_fetch_mask_add_u32_acquire
#define wsc_fetch_mask_add_u32_acquire(ptr, mask, add, retries) \
	(FmTestPause(), \
	 wsc_generic_fetch_mask_add_u32_acquire(ptr, mask, add, retries))

#endif							/* PAUSES_H */
