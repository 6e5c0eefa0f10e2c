/*-------------------------------------------------------------------------
 *
 * view.h
 *	  What the functions behind the views have in common.
 *
 * A function behind a view streams rows into a tuplestore.  It returns codes
 * and ids where it can: names are made by the view's select list, so that a
 * query that does not use them does not pay for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_VIEW_H
#define WSC_VIEW_H

#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "port/compat.h"
#include "sample/sample.h"

/* No view's function has more columns than this. */
#define WSC_MAX_COLUMNS 32

struct FunctionCallInfoBaseData;

/* The rows of one call.  Columns are put in the order of the catalog. */
typedef struct WscRows
{
	Tuplestorestate *store;
	TupleDesc	desc;
	int			n;				/* columns put so far in this row */
	Datum		values[WSC_MAX_COLUMNS];
	bool		nulls[WSC_MAX_COLUMNS];
} WscRows;

/* Takes the columns from the function's declaration. */
extern void WscRowsBegin(WscRows *rows,
						 struct FunctionCallInfoBaseData *fcinfo);

/* Adds the row; as many columns must have been put as were declared. */
extern void WscRowsEnd(WscRows *rows);

static inline void
WscPut(WscRows *rows, Datum value)
{
	Assert(rows->n < WSC_MAX_COLUMNS);
	rows->values[rows->n] = value;
	rows->nulls[rows->n++] = false;
}

static inline void
WscPutNull(WscRows *rows)
{
	Assert(rows->n < WSC_MAX_COLUMNS);
	rows->values[rows->n] = (Datum) 0;
	rows->nulls[rows->n++] = true;
}

static inline void
WscPutInt32(WscRows *rows, int32 value)
{
	WscPut(rows, Int32GetDatum(value));
}

static inline void
WscPutInt64(WscRows *rows, int64 value)
{
	WscPut(rows, Int64GetDatum(value));
}

/* The same for types whose "none" is 0 and is shown as NULL. */
static inline void
WscPutInt32OrNull(WscRows *rows, int32 value)
{
	if (value != 0)
		WscPut(rows, Int32GetDatum(value));
	else
		WscPutNull(rows);
}

static inline void
WscPutInt64OrNull(WscRows *rows, int64 value)
{
	if (value != 0)
		WscPut(rows, Int64GetDatum(value));
	else
		WscPutNull(rows);
}

static inline void
WscPutOidOrNull(WscRows *rows, Oid value)
{
	if (OidIsValid(value))
		WscPut(rows, ObjectIdGetDatum(value));
	else
		WscPutNull(rows);
}

/* Durations are shown in milliseconds. */
static inline void
WscPutTime(WscRows *rows, int64 value_ns)
{
	WscPut(rows, Float8GetDatum((double) value_ns / 1000000.0));
}

extern void WscPutText(WscRows *rows, const char *value);	/* NULL: null */
extern void WscPutMoment(WscRows *rows, TimestampTz value); /* 0: null */
extern void WscPutCounts(WscRows *rows, const int64 *counts, int n);

/*
 * Raises an error unless the shared memory is there, that is, unless the
 * library was preloaded.
 */
extern void WscRequirePreload(void);

/* An interval argument in milliseconds; outside the range: an error. */
extern double WscGetIntervalMs(struct FunctionCallInfoBaseData *fcinfo,
							   int argno, const char *name, double min_ms,
							   double max_ms);

/*
 * May the current user see what pg_stat_activity hides of sessions of
 * another role?  Answers are remembered for the time of one call.
 */
#define WSC_REMEMBERED_ROLES 64

typedef struct WscPrivileges
{
	bool		sees_all;
	Oid			roles[WSC_REMEMBERED_ROLES];
	bool		answers[WSC_REMEMBERED_ROLES];
} WscPrivileges;

extern void WscPrivilegesBegin(WscPrivileges *privileges);

/* InvalidOid is the role of processes that belong to nobody. */
extern bool WscMaySeeRole(WscPrivileges *privileges, Oid role);

/* Names of codes; NULL where the code stands for "none" or is unknown. */
extern const char *WscBackendTypeName(int backend_type);
extern const char *WscLWLockModeName(int lwlock_mode);
extern const char *WscLockTypeName(int locktype);
extern const char *WscLockModeName(int lock_mode);

/* A function callable from SQL: before 16 the macro does not export it. */
#define WSC_SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#endif							/* WSC_VIEW_H */
