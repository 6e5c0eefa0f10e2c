/*-------------------------------------------------------------------------
 *
 * teacher.c
 *	  Sessions tell the names of tranches that only they know.
 *
 * Before 19 an LWLock tranche made at run time has its name only in the
 * processes that registered it, and these need never look at a view of ours.
 * So each session looks at the end of a transaction whether the sampler has
 * met a tranche without a name, which costs it one read of shared memory.
 * Mostly there is none.  A tranche whose name nobody has, or no longer, is
 * asked for again and again, so not more often than once a second.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "teacher.h"
#include "store/eventdict.h"

/*
 * Before the commit, where a lock may still be taken.  A process without a
 * database, as the sampler is, has nothing to tell and must not wait.
 */
static void
teach_names(XactEvent event, void *arg)
{
	static TimestampTz last;
	TimestampTz now;

	if (event != XACT_EVENT_PRE_COMMIT || !WscEventDictWantsNames() ||
		!OidIsValid(MyDatabaseId))
		return;
	now = GetCurrentTransactionStartTimestamp();
	if (now - last < USECS_PER_SEC)
		return;
	last = now;
	WscEventDictTeach();
}

void
WscTeacherInit(void)
{
	RegisterXactCallback(teach_names, NULL);
}
