/*-------------------------------------------------------------------------
 *
 * lock_api.h
 *	  Offers our locks to other extensions.
 *
 * What they see is extension/pg_waitscope/pg_waitscope_lock.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_API_H
#define WSC_LOCK_API_H

/* Once, while the library is preloaded. */
extern void WscPublishLockApi(void);

#endif							/* WSC_LOCK_API_H */
