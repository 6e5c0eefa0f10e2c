/*-------------------------------------------------------------------------
 *
 * view_names.c
 *	  Names of the ids and codes that the functions behind views return.
 *
 * These are called in the select lists of views, once per row and column
 * wanted.  Names of wait events come out of the dictionary, which guards
 * them with a lock, so a call site asks for each name once per query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/lock.h"
#include "utils/builtins.h"

#include "port/compat.h"
#include "sample/state_class.h"
#include "store/eventdict.h"
#include "view.h"

WSC_SQL_FUNCTION(pg_waitscope_event_type);
WSC_SQL_FUNCTION(pg_waitscope_event_name);
WSC_SQL_FUNCTION(pg_waitscope_backend_type_name);
WSC_SQL_FUNCTION(pg_waitscope_state_class_name);
WSC_SQL_FUNCTION(pg_waitscope_lwlock_mode_name);
WSC_SQL_FUNCTION(pg_waitscope_locktype_name);
WSC_SQL_FUNCTION(pg_waitscope_lock_mode_name);

const char *
WscBackendTypeName(int backend_type)
{
	if (backend_type <= B_INVALID || backend_type >= PG_UINT8_MAX)
		return NULL;
	return GetBackendTypeDesc((BackendType) backend_type);
}

const char *
WscLWLockModeName(int lwlock_mode)
{
	switch (lwlock_mode)
	{
		case WSC_LWLOCK_EXCLUSIVE:
			return "exclusive";
		case WSC_LWLOCK_SHARED:
			return "shared";
		case WSC_LWLOCK_UNTIL_FREE:
			return "until free";
		case WSC_LWLOCK_SHARE_EXCLUSIVE:
			return "share exclusive";
	}
	return NULL;
}

const char *
WscLockTypeName(int locktype)
{
	if (locktype <= WSC_LOCKTYPE_NONE || locktype > LOCKTAG_LAST_TYPE + 1)
		return NULL;
	return LockTagTypeNames[locktype - 1];
}

const char *
WscLockModeName(int lock_mode)
{
	if (lock_mode <= NoLock || lock_mode > MaxLockMode)
		return NULL;
	return GetLockmodeName(DEFAULT_LOCKMETHOD, lock_mode);
}

/*
 * The type or the name of an event as a text that lives as long as the call
 * site; NULL if no event has that id.
 */
static text *
remember_event_text(FunctionCallInfo fcinfo, bool want_type)
{
	text	  **texts = (text **) fcinfo->flinfo->fn_extra;
	int			id = PG_GETARG_INT32(0);

	WscRequirePreload();
	if (id < 0 || id >= WscEventDictCount())
		return NULL;
	if (texts == NULL)
	{
		texts = (text **) MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
												 WSC_MAX_EVENTS *
												 sizeof(text *));
		fcinfo->flinfo->fn_extra = texts;
	}
	if (texts[id] == NULL)
	{
		WscEventName event;
		MemoryContext oldcxt;

		WscEventDictName((WscEventId) id, &event);
		oldcxt = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		texts[id] = cstring_to_text(want_type ? event.type : event.name);
		MemoryContextSwitchTo(oldcxt);
	}
	return texts[id];
}

Datum
pg_waitscope_event_type(PG_FUNCTION_ARGS)
{
	text	   *type = remember_event_text(fcinfo, true);

	if (type == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(type);
}

Datum
pg_waitscope_event_name(PG_FUNCTION_ARGS)
{
	text	   *name = remember_event_text(fcinfo, false);

	if (name == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(name);
}

static Datum
return_name(FunctionCallInfo fcinfo, const char *name)
{
	if (name == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(name));
}

Datum
pg_waitscope_backend_type_name(PG_FUNCTION_ARGS)
{
	return return_name(fcinfo, WscBackendTypeName(PG_GETARG_INT32(0)));
}

Datum
pg_waitscope_state_class_name(PG_FUNCTION_ARGS)
{
	int			state_class = PG_GETARG_INT32(0);

	if (state_class < 0 || state_class >= WSC_NUM_STATE_CLASSES)
		PG_RETURN_NULL();
	return return_name(fcinfo, WscStateClassName(state_class));
}

Datum
pg_waitscope_lwlock_mode_name(PG_FUNCTION_ARGS)
{
	return return_name(fcinfo, WscLWLockModeName(PG_GETARG_INT32(0)));
}

Datum
pg_waitscope_locktype_name(PG_FUNCTION_ARGS)
{
	return return_name(fcinfo, WscLockTypeName(PG_GETARG_INT32(0)));
}

Datum
pg_waitscope_lock_mode_name(PG_FUNCTION_ARGS)
{
	return return_name(fcinfo, WscLockModeName(PG_GETARG_INT32(0)));
}
