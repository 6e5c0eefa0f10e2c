/*-------------------------------------------------------------------------
 *
 * state_class.c
 *	  What a process counts as: load, idle, background.
 *
 * The rules are one table.  Each line says for which kinds of process, which
 * states and which wait events it holds; the first line that fits decides.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sample/state_class.h"
#include "port/wait_events.h"

/* Kinds of process, one bit each. */
#define CLIENT		(1 << WSC_KIND_CLIENT)
#define WALSENDER	(1 << WSC_KIND_WALSENDER)
#define WORKER		(1 << WSC_KIND_WORKER)
#define SERVER		(1 << WSC_KIND_SERVER)
#define BACKGROUND	(WALSENDER | WORKER | SERVER)

/* States; "unknown" is undefined, disabled, or whatever is new. */
#define ACTIVE		(1 << 0)
#define IN_XACT		(1 << 1)
#define IDLE		(1 << 2)
#define UNKNOWN		(1 << 3)
#define ANY_STATE	(ACTIVE | IN_XACT | IDLE | UNKNOWN)

/* Wait events. */
#define NO_EVENT	(1 << 0)
#define CLIENT_READ	(1 << 1)
#define WAIT_WAL	(1 << 2)	/* walsender that has sent all there is */
#define ACTIVITY	(1 << 3)
#define PACING		(1 << 4)
#define EXTENSION	(1 << 5)
#define OTHER_EVENT	(1 << 6)
#define ANY_EVENT	(NO_EVENT | CLIENT_READ | WAIT_WAL | ACTIVITY | PACING | \
					 EXTENSION | OTHER_EVENT)

typedef struct Rule
{
	uint8		kinds;
	uint8		states;
	uint8		events;
	WscStateClass state_class;
} Rule;

static const Rule rules[] = {
	/* Whatever a statement waits for is load, COPY reading its data, too. */
	{CLIENT, ACTIVE, ANY_EVENT, WSC_FOREGROUND},
	{CLIENT, IN_XACT, ANY_EVENT, WSC_IDLE_IN_TRANSACTION},
	{CLIENT, IDLE, ANY_EVENT, WSC_IDLE},

	/* Without a state its wait says what it does; without a wait nothing. */
	{CLIENT, UNKNOWN, CLIENT_READ, WSC_IDLE},
	{CLIENT, UNKNOWN, ACTIVITY, WSC_BACKGROUND_IDLE},
	{CLIENT, UNKNOWN, NO_EVENT, WSC_HIDDEN},
	{CLIENT, UNKNOWN, ANY_EVENT, WSC_FOREGROUND},

	{BACKGROUND, ANY_STATE, ACTIVITY, WSC_BACKGROUND_IDLE},
	{BACKGROUND, ANY_STATE, PACING, WSC_BACKGROUND_IDLE},
	{WALSENDER, ANY_STATE, WAIT_WAL, WSC_BACKGROUND_IDLE},
	{WORKER, ANY_STATE, EXTENSION, WSC_BACKGROUND_IDLE},

	/* A replication connection has a client that may be silent. */
	{WALSENDER, IN_XACT, ANY_EVENT, WSC_IDLE_IN_TRANSACTION},
	{WALSENDER, IDLE, ANY_EVENT, WSC_IDLE},
	{WALSENDER, UNKNOWN, CLIENT_READ, WSC_IDLE},

	{BACKGROUND, ANY_STATE, ANY_EVENT, WSC_BACKGROUND},
};

static uint8
get_state_bit(BackendState state)
{
	switch (state)
	{
		case STATE_RUNNING:
		case STATE_FASTPATH:
			return ACTIVE;
		case STATE_IDLEINTRANSACTION:
		case STATE_IDLEINTRANSACTION_ABORTED:
			return IN_XACT;
		case STATE_IDLE:
			return IDLE;
		default:
			return UNKNOWN;
	}
}

static uint8
get_event_bit(uint32 event)
{
	if (event == 0)
		return NO_EVENT;
	if (event == WAIT_EVENT_CLIENT_READ)
		return CLIENT_READ;
	if (event == WSC_WAIT_WAL_SENDER_WAIT_WAL)
		return WAIT_WAL;
	if (WSC_WAIT_CLASS(event) == PG_WAIT_ACTIVITY)
		return ACTIVITY;
	if (WSC_WAIT_CLASS(event) == PG_WAIT_EXTENSION)
		return EXTENSION;
	if (WscWaitIsPacing(event))
		return PACING;
	return OTHER_EVENT;
}

WscStateClass
WscClassify(WscProcKind kind, BackendState state, uint32 wait_event_info)
{
	uint8		kind_bit = (uint8) (1 << kind);
	uint8		state_bit = get_state_bit(state);
	uint8		event_bit = get_event_bit(wait_event_info);
	int			i = 0;

	while ((rules[i].kinds & kind_bit) == 0 ||
		   (rules[i].states & state_bit) == 0 ||
		   (rules[i].events & event_bit) == 0)
	{
		i++;
		Assert(i < lengthof(rules));
	}
	return rules[i].state_class;
}

const char *
WscStateClassName(WscStateClass state_class)
{
	switch (state_class)
	{
		case WSC_FOREGROUND:
			return "foreground";
		case WSC_IDLE_IN_TRANSACTION:
			return "idle in transaction";
		case WSC_IDLE:
			return "idle";
		case WSC_BACKGROUND:
			return "background work";
		case WSC_BACKGROUND_IDLE:
			return "background idle";
		case WSC_HIDDEN:
			return "hidden";
	}
	return NULL;
}
