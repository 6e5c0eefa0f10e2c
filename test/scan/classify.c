/*-------------------------------------------------------------------------
 *
 * classify.c
 *	  Calls WscClassify() with names instead of codes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "port/procarray.h"
#include "port/wait_events.h"
#include "sample/state_class.h"

/* More than any class has. */
#define MAX_EVENTS_OF_CLASS 200

/* Its name differs between versions, and since 19 its meaning. */
#define WAIT_BUFFER 0x04000000U

PG_MODULE_MAGIC;

extern PGDLLEXPORT Datum wsc_test_classify(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(wsc_test_classify);

static const char *const kind_names[] = {
	[WSC_KIND_CLIENT] = "client",
	[WSC_KIND_WALSENDER] = "walsender",
	[WSC_KIND_WORKER] = "worker",
	[WSC_KIND_SERVER] = "server"
};

static const uint32 classes[] = {
	PG_WAIT_LWLOCK, PG_WAIT_LOCK, WAIT_BUFFER, PG_WAIT_ACTIVITY,
	PG_WAIT_CLIENT, PG_WAIT_EXTENSION, PG_WAIT_IPC, PG_WAIT_TIMEOUT,
	PG_WAIT_IO
};

static WscProcKind
find_kind(const char *name)
{
	for (int i = 0; i < (int) lengthof(kind_names); i++)
	{
		if (strcmp(kind_names[i], name) == 0)
			return (WscProcKind) i;
	}
	elog(ERROR, "unknown kind \"%s\"", name);
}

/* NULL stands for a status that could not be read. */
static BackendState
find_state(const char *name)
{
	if (name == NULL)
		return STATE_UNDEFINED;
	for (int state = STATE_UNDEFINED; state <= STATE_DISABLED; state++)
	{
		const char *known = WscStateName((BackendState) state);

		if (known != NULL && strcmp(known, name) == 0)
			return (BackendState) state;
	}
	elog(ERROR, "unknown state \"%s\"", name);
}

/* Letter case of some names differs between versions. */
static uint32
find_event(const char *type, const char *name)
{
	for (int i = 0; i < (int) lengthof(classes); i++)
	{
		if (strcmp(pgstat_get_wait_event_type(classes[i]), type) != 0)
			continue;
		for (uint32 event = 0; event < MAX_EVENTS_OF_CLASS; event++)
		{
			const char *known = pgstat_get_wait_event(classes[i] + event);

			/* Not each number of a tranche is in use. */
			if (known != NULL && pg_strcasecmp(known, name) == 0)
				return classes[i] + event;
			if (classes[i] == PG_WAIT_EXTENSION)
				break;			/* others must be registered first */
		}
	}
	elog(ERROR, "unknown event \"%s\"", name);
}

Datum
wsc_test_classify(PG_FUNCTION_ARGS)
{
	WscProcKind kind = find_kind(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	BackendState state = STATE_UNDEFINED;
	uint32		event = 0;
	WscStateClass class;

	if (!PG_ARGISNULL(1))
		state = find_state(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	if (!PG_ARGISNULL(2))
		event = find_event(text_to_cstring(PG_GETARG_TEXT_PP(2)),
						   text_to_cstring(PG_GETARG_TEXT_PP(3)));
	class = WscClassify(kind, state, event);
	PG_RETURN_TEXT_P(cstring_to_text(WscStateClassName(class)));
}
