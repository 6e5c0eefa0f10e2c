/*-------------------------------------------------------------------------
 *
 * view_rows.c
 *	  Rows, privileges and the error of all functions behind views.
 *
 * Nothing here looks into shared memory.  Rows go into a tuplestore that
 * spills to disk, one at a time, so that a reader of a large store needs no
 * more memory than work_mem.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "port/compat.h"
#include "shmem.h"
#include "view.h"

/*
 * The server has a function for this from 15 on, InitMaterializedSRF(); this
 * one is the same on every version.
 */
void
WscRowsBegin(WscRows *rows, FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext oldcxt;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) ||
		(rsinfo->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-returning function called where no set is "
						"accepted")));

	/* Rows and columns must outlive the call. */
	oldcxt = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, &rows->desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row");
	rows->store =
		tuplestore_begin_heap((rsinfo->allowedModes &
							   SFRM_Materialize_Random) != 0,
							  false, work_mem);
	MemoryContextSwitchTo(oldcxt);
	rows->n = 0;

	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = rows->store;
	rsinfo->setDesc = rows->desc;
}

void
WscRowsEnd(WscRows *rows)
{
	if (rows->n != rows->desc->natts)
		elog(ERROR, "row has %d columns, declared are %d",
			 rows->n, rows->desc->natts);
	tuplestore_putvalues(rows->store, rows->desc, rows->values, rows->nulls);
	rows->n = 0;
}

void
WscPutText(WscRows *rows, const char *value)
{
	if (value != NULL)
		WscPut(rows, CStringGetTextDatum(value));
	else
		WscPutNull(rows);
}

void
WscPutMoment(WscRows *rows, TimestampTz value)
{
	if (value != 0)
		WscPut(rows, TimestampTzGetDatum(value));
	else
		WscPutNull(rows);
}

void
WscPutCounts(WscRows *rows, const int64 *counts, int n)
{
	Datum	   *elements = palloc(sizeof(Datum) * (Size) n);

	for (int i = 0; i < n; i++)
		elements[i] = Int64GetDatum(counts[i]);
	WscPut(rows, PointerGetDatum(construct_array(elements, n, INT8OID,
												 sizeof(int64),
												 FLOAT8PASSBYVAL,
												 TYPALIGN_DOUBLE)));
}

void
WscRequirePreload(void)
{
	if (!WscShmemAttached())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_waitscope must be loaded via "
						"\"shared_preload_libraries\""),
				 errhint("Add pg_waitscope to the setting "
						 "\"shared_preload_libraries\" and restart the server. "
						 "The views pg_waitscope_activity and "
						 "pg_waitscope_lock_chains and the function "
						 "pg_waitscope_sample() work without that.")));
}

/* Months have 30 days. */
double
WscGetIntervalMs(FunctionCallInfo fcinfo, int argno, const char *name,
				 double min_ms, double max_ms)
{
	Interval   *interval;
	double		ms;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name),
				 errhint("Give an interval from %.15g ms to %.15g ms.",
						 min_ms, max_ms)));
	interval = PG_GETARG_INTERVAL_P(argno);
	ms = (((double) interval->month * DAYS_PER_MONTH + interval->day) *
		  SECS_PER_DAY * 1000.0) + (double) interval->time / 1000.0;
	if (ms < min_ms || ms > max_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of %.15g ms is outside the valid range", name, ms),
				 errhint("Give an interval from %.15g ms to %.15g ms.",
						 min_ms, max_ms)));
	return ms;
}

void
WscPrivilegesBegin(WscPrivileges *privileges)
{
	memset(privileges, 0, sizeof(*privileges));
	privileges->sees_all = has_privs_of_role(GetUserId(),
											 ROLE_PG_READ_ALL_STATS);
}

/*
 * has_privs_of_role() searches a list and looks up the superuser flag; a
 * history has a million rows of few roles.  Two roles that meet in one place
 * of the table only cost time.
 */
bool
WscMaySeeRole(WscPrivileges *privileges, Oid role)
{
	uint32		i = role % WSC_REMEMBERED_ROLES;

	if (privileges->sees_all)
		return true;
	if (!OidIsValid(role))
		return false;
	if (privileges->roles[i] != role)
	{
		privileges->answers[i] = has_privs_of_role(GetUserId(), role);
		privileges->roles[i] = role;
	}
	return privileges->answers[i];
}
