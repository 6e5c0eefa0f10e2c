/*-------------------------------------------------------------------------
 *
 * wait_events.c
 *	  Wait events of our own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lwlock.h"

#include "port/wait_events.h"

#if PG_VERSION_NUM >= 170000

/*
 * The server has room for some 128 names, and meets one too many with an
 * error that it raises while it holds the lock on them.
 */
uint32
WscNewWaitEvent(const char *name)
{
	MemoryContext context = CurrentMemoryContext;
	volatile uint32 event = PG_WAIT_EXTENSION;

	PG_TRY();
	{
		event = WaitEventExtensionNew(name);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		LWLockReleaseAll();
	}
	PG_END_TRY();

	return event;
}

#else

uint32
WscNewWaitEvent(const char *name)
{
	(void) name;
	return PG_WAIT_EXTENSION;
}

#endif
