/*-------------------------------------------------------------------------
 *
 * view_summary.c
 *	  Function behind the summary: average active sessions per event in the
 *	  last moments, and whose statement it was.
 *
 * The windows come from the events store, which evicts nothing.  The query
 * is the one with most foreground samples of the event in the last minute
 * of the history.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "port/compat.h"
#include "port/timer.h"
#include "store/eventdict.h"
#include "store/events.h"
#include "store/ring.h"
#include "view.h"

#define NUM_WINDOWS 4
#define QUERY_WINDOW_S 60

/* The row of all events together comes behind the last event's. */
#define TOTAL WSC_MAX_EVENTS

static const int64 window_s[NUM_WINDOWS] = {10, 60, 300, 900};

/* The window that shares are given for. */
#define MINUTE 1

typedef struct Window
{
	bool		covered;		/* at least half of it */
	int64		covered_ns;
	int64		time_ns[WSC_MAX_EVENTS + 1];	/* per event, then all */
} Window;

/* Two fields of one width: there is no padding that would be hashed. */
typedef struct QueryKey
{
	int64		queryid;
	int64		event;			/* or TOTAL */
} QueryKey;

typedef struct QueryCount
{
	QueryKey	key;			/* hash key, must be first */
	int64		samples;
	bool		hidden;			/* some of the samples may not be seen */
} QueryCount;

WSC_SQL_FUNCTION(pg_waitscope_get_summary);

static void
read_window(Window *window, int64 now_ns, int64 length_s)
{
	window->covered = WscEventsWindow(now_ns,
									  length_s * INT64CONST(1000000000),
									  window->time_ns, &window->covered_ns);
	window->time_ns[TOTAL] = 0;
	if (!window->covered)
		return;
	for (int i = 0; i < WSC_MAX_EVENTS; i++)
		window->time_ns[TOTAL] += window->time_ns[i];
}

static void
count_query(HTAB *counts, int64 queryid, int event, bool hidden)
{
	QueryKey	key;
	QueryCount *count;
	bool		found;

	key.queryid = queryid;
	key.event = event;
	count = hash_search(counts, &key, HASH_ENTER, &found);
	if (!found)
	{
		count->samples = 0;
		count->hidden = false;
	}
	count->samples++;
	count->hidden |= hidden;
}

static HTAB *
count_queries(void)
{
	TimestampTz since = GetCurrentTimestamp() -
	QUERY_WINDOW_S * USECS_PER_SEC;
	WscPrivileges privileges;
	WscRingReader *reader;
	WscSample	sample;
	TimestampTz sampled_at;
	int64		weight_ns;
	HTAB	   *counts;
	HASHCTL		ctl;

	memset(&ctl, 0, sizeof(ctl));
	ctl.keysize = sizeof(QueryKey);
	ctl.entrysize = sizeof(QueryCount);
	ctl.hcxt = CurrentMemoryContext;
	counts = hash_create("pg_waitscope query counts", 256, &ctl,
						 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	WscPrivilegesBegin(&privileges);
	reader = WscRingOpen();
	WscRingSkipTo(reader, since);
	while (WscRingNext(reader, &sample, &sampled_at, &weight_ns))
	{
		bool		hidden;

		CHECK_FOR_INTERRUPTS();
		if (sampled_at < since || sample.queryid == 0 ||
			sample.state_class != WSC_FOREGROUND ||
			sample.event >= WSC_MAX_EVENTS)
			continue;
		hidden = !WscMaySeeRole(&privileges, sample.usesysid);
		count_query(counts, sample.queryid, sample.event, hidden);
		count_query(counts, sample.queryid, TOTAL, hidden);
	}
	return counts;
}

/* Which is on top shall not depend on the order of the hash table. */
static bool
is_above(const QueryCount *a, const QueryCount *b)
{
	if (a->samples != b->samples)
		return a->samples > b->samples;
	return a->key.queryid > b->key.queryid;
}

/*
 * The first query of each event; 0 where there is none.  One that the user
 * may not see all samples of is not replaced by the next: that would be
 * wrong, and tell him about others.
 */
static void
find_top_queries(int64 *queryids)
{
	HTAB	   *counts = count_queries();
	QueryCount **tops = palloc0(sizeof(QueryCount *) * (TOTAL + 1));
	HASH_SEQ_STATUS status;
	QueryCount *count;

	hash_seq_init(&status, counts);
	while ((count = hash_seq_search(&status)) != NULL)
	{
		QueryCount **top = &tops[count->key.event];

		if (*top == NULL || is_above(count, *top))
			*top = count;
	}
	for (int i = 0; i <= TOTAL; i++)
		queryids[i] = tops[i] != NULL && !tops[i]->hidden ?
			tops[i]->key.queryid : 0;
	hash_destroy(counts);
	pfree(tops);
}

/* The columns of one window: sessions per event, and the share of all. */
static void
put_average(WscRows *rows, const Window *window, int event)
{
	if (window->covered)
		WscPut(rows, Float8GetDatum((double) window->time_ns[event] /
									(double) window->covered_ns));
	else
		WscPutNull(rows);
}

static void
put_percentage(WscRows *rows, const Window *window, int event)
{
	if (window->covered && window->time_ns[TOTAL] > 0)
		WscPut(rows, Float8GetDatum(100.0 * (double) window->time_ns[event] /
									(double) window->time_ns[TOTAL]));
	else
		WscPutNull(rows);
}

/* One row per event with load in some window, then the row of all. */
Datum
pg_waitscope_get_summary(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	Window	   *windows = palloc(sizeof(Window) * NUM_WINDOWS);
	int64	   *queryids = palloc(sizeof(int64) * (TOTAL + 1));
	int64		now_ns;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	now_ns = WscTimerNow();
	for (int w = 0; w < NUM_WINDOWS; w++)
		read_window(&windows[w], now_ns, window_s[w]);
	find_top_queries(queryids);

	for (int i = 0; i <= TOTAL; i++)
	{
		bool		wanted = i == TOTAL;

		for (int w = 0; w < NUM_WINDOWS; w++)
			wanted |= windows[w].covered && windows[w].time_ns[i] > 0;
		if (!wanted)
			continue;
		if (i < TOTAL)
			WscPutInt32(&rows, i);
		else
			WscPutNull(&rows);
		for (int w = 0; w < NUM_WINDOWS; w++)
			put_average(&rows, &windows[w], i);
		put_percentage(&rows, &windows[MINUTE], i);
		WscPutInt64OrNull(&rows, queryids[i]);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}
