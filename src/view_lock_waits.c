/*-------------------------------------------------------------------------
 *
 * view_lock_waits.c
 *	  Functions behind the views of waits for heavyweight locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "port/procarray.h"
#include "store/lockhistory.h"
#include "store/lockwaits.h"
#include "view.h"

WSC_SQL_FUNCTION(pg_waitscope_get_lock_waits);
WSC_SQL_FUNCTION(pg_waitscope_get_lock_blockers);
WSC_SQL_FUNCTION(pg_waitscope_get_lock_wait_history);

static void
put_key(WscRows *rows, const WscHeavyKey *key)
{
	WscPutInt32OrNull(rows, key->locktype);
	WscPutOidOrNull(rows, key->datid);
	WscPutOidOrNull(rows, key->relid);
	WscPutInt32OrNull(rows, key->mode);
}

/* The row of all that has no row of its own has no key. */
Datum
pg_waitscope_get_lock_waits(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscLockWaitTotals totals;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	for (int i = 0; i <= WSC_LOCK_WAIT_ROWS; i++)
	{
		if (!WscLockWaitsRead(WSC_LOCK_WAITS, i, &totals))
			continue;
		put_key(&rows, &totals.key);
		WscPutInt64(&rows, totals.samples);
		WscPutInt64(&rows, totals.waits);
		WscPutTime(&rows, totals.wait_ns);
		WscPutTime(&rows, totals.max_wait_ns);
		WscPutCounts(&rows, totals.histogram, WSC_LENGTH_CLASSES);
		WscPutInt64(&rows, totals.given_up);
		WscPutTime(&rows, totals.time_ns);
		WscPutInt64(&rows, totals.waiting);
		WscPutInt64(&rows, totals.max_waiting);
		WscPutMoment(&rows, totals.last_seen);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

/* The blocker's columns of a row are NULL if nobody knows it. */
Datum
pg_waitscope_get_lock_blockers(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscLockWaitTotals totals;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	for (int i = 0; i <= WSC_LOCK_WAIT_ROWS; i++)
	{
		if (!WscLockWaitsRead(WSC_LOCK_BLOCKERS, i, &totals))
			continue;
		put_key(&rows, &totals.key);
		WscPutInt32OrNull(&rows, totals.key.blocker_mode);
		if (totals.key.blocker_mode != 0)
			WscPut(&rows, BoolGetDatum(totals.key.blocker_queued));
		else
			WscPutNull(&rows);
		WscPutInt32OrNull(&rows, totals.key.blocker_type);
		WscPutInt64(&rows, totals.waits);
		WscPutTime(&rows, totals.wait_ns);
		WscPutTime(&rows, totals.max_wait_ns);
		WscPutCounts(&rows, totals.histogram, WSC_LENGTH_CLASSES);
		WscPutMoment(&rows, totals.last_seen);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

static const char *
get_outcome_name(int32 outcome)
{
	switch (outcome)
	{
		case WSC_OUTCOME_GRANTED:
			return "granted";
		case WSC_OUTCOME_GIVEN_UP:
			return "given up";
		default:
			return NULL;
	}
}

static void
put_blocker(WscRows *rows, const WscHeavyBlocker *blocker)
{
	if (!blocker->known)
	{
		for (int i = 0; i < 5; i++)
			WscPutNull(rows);
	}
	else
	{
		WscPutInt32(rows, blocker->pid);
		WscPutInt32(rows, blocker->mode);
		WscPut(rows, BoolGetDatum(blocker->queued));
		WscPutInt32OrNull(rows, blocker->backend_type);
		WscPutText(rows, WscStateName((BackendState) blocker->state));
	}
	if (!blocker->root_known)
	{
		WscPutNull(rows);
		WscPutNull(rows);
	}
	else
	{
		WscPutInt32(rows, blocker->root_pid);
		WscPutText(rows, WscStateName((BackendState) blocker->root_state));
	}
}

Datum
pg_waitscope_get_lock_wait_history(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscHeavyWait wait;
	uint64		number;
	uint64		next;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	WscLockHistoryRange(&number, &next);
	for (; number < next; number++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!WscLockHistoryRead(number, &wait))
			continue;
		WscPutMoment(&rows, wait.started_at);
		WscPutTime(&rows, wait.length_ns);
		WscPutText(&rows, get_outcome_name(wait.outcome));
		WscPutInt32(&rows, wait.pid);
		WscPutOidOrNull(&rows, wait.datid);
		WscPutOidOrNull(&rows, wait.usesysid);
		WscPutInt64OrNull(&rows, wait.queryid);
		put_key(&rows, &wait.key);
		put_blocker(&rows, &wait.blocker);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}
