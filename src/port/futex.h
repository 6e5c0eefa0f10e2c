/*-------------------------------------------------------------------------
 *
 * futex.h
 *	  Sleep while a word in shared memory has a value; Linux only.
 *
 * Without WSC_HAVE_FUTEX the functions exist and must not be called.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_FUTEX_H
#define WSC_FUTEX_H

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef SYS_futex
#define WSC_HAVE_FUTEX
#endif
#endif

#include "port/atomics.h"

/*
 * Returns at once if the word has another value; else when it is woken, or
 * for no reason: the caller looks again.
 */
static inline void
WscFutexWait(pg_atomic_uint32 *word, uint32 value)
{
#ifdef WSC_HAVE_FUTEX
	(void) syscall(SYS_futex, &word->value, FUTEX_WAIT, value, NULL, NULL, 0);
#else
	(void) word;
	(void) value;
#endif
}

static inline void
WscFutexWakeAll(pg_atomic_uint32 *word)
{
#ifdef WSC_HAVE_FUTEX
	(void) syscall(SYS_futex, &word->value, FUTEX_WAKE, PG_INT32_MAX, NULL,
				   NULL, 0);
#else
	(void) word;
#endif
}

#endif							/* WSC_FUTEX_H */
