/*-------------------------------------------------------------------------
 *
 * shmem.h
 *	  The shared memory of the extension: one table of regions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_SHMEM_H
#define WSC_SHMEM_H

#include "store/store.h"

typedef struct WscRegion
{
	const char *name;			/* what users call it: views, reset */
	const char *shmem_name;		/* in pg_shmem_allocations */
	Size		(*size) (void);
	void		(*attach) (void *mem, bool found);
	void		(*info) (WscStoreInfo *info);	/* NULL: not a store */
	void		(*reset) (TimestampTz now); /* NULL: cannot be reset */
} WscRegion;

extern const WscRegion wsc_regions[];
extern const int wsc_num_regions;

/* Called once, while the library is preloaded. */
extern void WscShmemInit(void);

/* Are the regions there in this process? */
extern bool WscShmemAttached(void);

/* When this shared memory was made; what "epoch" in views is. */
extern int64 WscShmemEpoch(void);

#endif							/* WSC_SHMEM_H */
