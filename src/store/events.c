/*-------------------------------------------------------------------------
 *
 * events.c
 *	  Exact totals per wait event, and what they were at moments of the last
 *	  quarter of an hour.
 *
 * One row per event id, guarded by its change counter (see store.h).  The
 * sampler is the only writer of all of it and takes no lock.
 *
 * Windows.  The foreground time of an event is a function of time that only
 * grows: a tick at t with weight w stands for the time from t - w to t, so
 * the function rises by w times the sightings there, and is flat where no
 * tick stands for the time.  The time covered is such a function, too.  Both
 * are copied aside before a tick is added, with the moment t - w, if the last
 * copy is 250 ms old (set "fine", 16 s) or 5 s old ("coarse", 15 minutes);
 * behind a gap in sampling that long there is one more copy, of the moment
 * where the gap began.  Between two copies the functions are taken for
 * straight; a window is the difference between the live values and those at
 * its beginning.  Its end is not covered beyond the last tick, so a sampler
 * that stands still makes windows unknown, not unchanging.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "store/events.h"

#define NS_PER_MS INT64CONST(1000000)

/* Copies by age; a few more than 16 s and 15 minutes need. */
#define FINE_STEP_NS (250 * NS_PER_MS)
#define FINE_COPIES 72
#define COARSE_STEP_NS (5000 * NS_PER_MS)
#define COARSE_COPIES 192
#define NUM_COPIES (FINE_COPIES + COARSE_COPIES)

#define NEVER INT64CONST(-1)	/* no moment on CLOCK_MONOTONIC */

typedef struct EventRow
{
	pg_atomic_uint32 changes;	/* odd while totals change */
	WscEventTotals totals;		/* guarded by changes */
} EventRow;

/* Where the functions stood at one moment. */
typedef struct Copy
{
	pg_atomic_uint32 changes;	/* odd while the rest changes */
	int32		nevents;		/* events beyond had no time yet */
	int64		mono_ns;		/* NEVER: not filled */
	int64		covered_ns;
	int64		time_ns[WSC_MAX_EVENTS];
} Copy;

/* A part of the copies, written round and round.  Writer's own. */
typedef struct CopySet
{
	int32		first;			/* of its copies in the array of all */
	int32		ncopies;
	int64		step_ns;
	int32		next;			/* copy to be written next, from first */
	int64		last_ns;		/* moment of the newest copy, or NEVER */
} CopySet;

typedef struct WscEvents
{
	WscGeneration generation;
	pg_atomic_uint64 skipped;	/* readers add: rows they could not get */

	/* writer's own */
	int32		nevents;		/* ids seen so far are below */
	CopySet		fine;
	CopySet		coarse;

	/* written by the sampler, guarded by changes */
	pg_atomic_uint32 changes;
	int64		last_ns;		/* moment of the last tick, or NEVER */
	int64		covered_ns;		/* sum of the weights of all ticks */

	EventRow	rows[WSC_MAX_EVENTS];
	Copy		copies[NUM_COPIES];
} WscEvents;

static WscEvents *events;

Size
WscEventsSize(void)
{
	return MAXALIGN(sizeof(WscEvents));
}

static void
start_set(CopySet *set, int first, int ncopies, int64 step_ns)
{
	set->first = first;
	set->ncopies = ncopies;
	set->step_ns = step_ns;
	set->next = 0;
	set->last_ns = NEVER;
}

static void
clear_all(void)
{
	int			i;

	for (i = 0; i < events->nevents; i++)
	{
		EventRow   *row = &events->rows[i];

		WscBeginChange(&row->changes);
		memset(&row->totals, 0, sizeof(row->totals));
		WscEndChange(&row->changes);
	}
	for (i = 0; i < NUM_COPIES; i++)
	{
		Copy	   *copy = &events->copies[i];

		WscBeginChange(&copy->changes);
		copy->mono_ns = NEVER;
		WscEndChange(&copy->changes);
	}
	start_set(&events->fine, 0, FINE_COPIES, FINE_STEP_NS);
	start_set(&events->coarse, FINE_COPIES, COARSE_COPIES, COARSE_STEP_NS);
	events->nevents = 0;

	WscBeginChange(&events->changes);
	events->last_ns = NEVER;
	events->covered_ns = 0;
	WscEndChange(&events->changes);
}

void
WscEventsAttach(void *mem, bool found)
{
	int			i;

	events = mem;
	if (found)
		return;

	memset(events, 0, sizeof(*events));
	WscGenerationInit(&events->generation, GetCurrentTimestamp());
	pg_atomic_init_u64(&events->skipped, 0);
	pg_atomic_init_u32(&events->changes, 0);
	for (i = 0; i < WSC_MAX_EVENTS; i++)
		pg_atomic_init_u32(&events->rows[i].changes, 0);
	for (i = 0; i < NUM_COPIES; i++)
		pg_atomic_init_u32(&events->copies[i].changes, 0);
	clear_all();
}

/* The values as they are, with the moment they belong to. */
static void
write_copy(CopySet *set, int64 mono_ns)
{
	Copy	   *copy = &events->copies[set->first + set->next];
	int			i;

	WscBeginChange(&copy->changes);
	copy->nevents = events->nevents;
	copy->mono_ns = mono_ns;
	copy->covered_ns = events->covered_ns;
	for (i = 0; i < events->nevents; i++)
		copy->time_ns[i] = events->rows[i].totals.time_ns;
	WscEndChange(&copy->changes);

	set->next = (set->next + 1) % set->ncopies;
	set->last_ns = mono_ns;
}

/* The tick to come stands for the time from from_ns. */
static void
take_due_copies(CopySet *set, int64 from_ns)
{
	int64		last_ns = events->last_ns;

	if (set->last_ns != NEVER && from_ns - set->last_ns < set->step_ns)
		return;
	if (last_ns != NEVER && from_ns - last_ns > set->step_ns)
		write_copy(set, last_ns);	/* a gap began then */
	write_copy(set, from_ns);
}

static void
count_sample(const WscSample *sample, int64 weight_ns)
{
	EventRow   *row = &events->rows[sample->event];

	if (!WscIsCounted(sample))
		return;

	events->nevents = Max(events->nevents, sample->event + 1);
	WscBeginChange(&row->changes);
	if (sample->state_class == WSC_FOREGROUND)
	{
		row->totals.samples++;
		row->totals.time_ns += weight_ns;
	}
	else
	{
		row->totals.background_samples++;
		row->totals.background_time_ns += weight_ns;
	}
	WscEndChange(&row->changes);
}

void
WscEventsAdd(const WscTick *tick, const WscSample *samples, int n)
{
	uint64		wanted;
	int			i;

	if (WscGenerationStale(&events->generation, &wanted))
	{
		clear_all();
		if (!WscGenerationAdopt(&events->generation, wanted,
								tick->sampled_at))
			return;
	}

	take_due_copies(&events->fine, tick->mono_ns - tick->weight_ns);
	take_due_copies(&events->coarse, tick->mono_ns - tick->weight_ns);
	for (i = 0; i < n; i++)
		count_sample(&samples[i], tick->weight_ns);

	WscBeginChange(&events->changes);
	events->last_ns = tick->mono_ns;
	events->covered_ns += tick->weight_ns;
	WscEndChange(&events->changes);
}

/* One row, also if all of it is 0. */
static bool
read_row(WscEventId event, WscEventTotals *totals)
{
	EventRow   *row = &events->rows[event];
	int			tries = 0;

	do
	{
		uint32		before;

		if (!WscBeginRead(&row->changes, &before))
			continue;
		*totals = row->totals;
		if (WscEndRead(&row->changes, before))
			return true;
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&events->skipped, 1);
	return false;
}

bool
WscEventsRead(WscEventId event, WscEventTotals *totals)
{
	if (event >= WSC_MAX_EVENTS || !WscGenerationValid(&events->generation))
		return false;
	pg_read_barrier();			/* generation before the row; pairs with
								 * WscGenerationAdopt() */
	return read_row(event, totals) &&
		(totals->samples > 0 || totals->background_samples > 0) &&
		WscGenerationValid(&events->generation);
}

/* Reads all of a copy but its unused end. */
static bool
read_copy(Copy *copy, Copy *into)
{
	uint32		before;

	if (!WscBeginRead(&copy->changes, &before))
		return false;
	memcpy(into, copy, sizeof(*into));
	return WscEndRead(&copy->changes, before);
}

/*
 * The newest copy not after a moment (before), the oldest one after it
 * (after).  NULL: none.
 */
static void
find_copies(int64 moment_ns, Copy **before, Copy **after)
{
	int64		before_ns = 0;
	int64		after_ns = 0;
	int			i;

	*before = NULL;
	*after = NULL;
	for (i = 0; i < NUM_COPIES; i++)
	{
		Copy	   *copy = &events->copies[i];
		uint32		changes;
		int64		mono_ns;

		if (!WscBeginRead(&copy->changes, &changes))
			continue;			/* the oldest, being replaced */
		mono_ns = copy->mono_ns;
		if (!WscEndRead(&copy->changes, changes) || mono_ns == NEVER)
			continue;
		if (mono_ns <= moment_ns)
		{
			if (*before == NULL || mono_ns > before_ns)
			{
				*before = copy;
				before_ns = mono_ns;
			}
		}
		else if (*after == NULL || mono_ns < after_ns)
		{
			*after = copy;
			after_ns = mono_ns;
		}
	}
}

/* The values now, in the form of a copy. */
static bool
read_live(Copy *into)
{
	bool		done = false;
	int			tries = 0;
	int			i;

	do
	{
		uint32		before;

		if (!WscBeginRead(&events->changes, &before))
			continue;
		into->mono_ns = events->last_ns;
		into->covered_ns = events->covered_ns;
		done = WscEndRead(&events->changes, before);
	} while (!done && WscReadAgain(&tries));
	if (!done)
		return false;
	for (i = 0; i < WSC_MAX_EVENTS; i++)
	{
		WscEventTotals totals;

		if (!read_row((WscEventId) i, &totals))
			return false;
		into->time_ns[i] = totals.time_ns;
	}
	into->nevents = WSC_MAX_EVENTS;
	return into->mono_ns != NEVER;
}

/* A copy's value of one event. */
static inline int64
time_in(const Copy *copy, int event)
{
	return event < copy->nevents ? copy->time_ns[event] : 0;
}

static inline int64
between(int64 from, int64 to, double part)
{
	return from + (int64) ((double) (to - from) * part);
}

/*
 * The copies around the beginning of a window.  Where the store is younger
 * than the window, both are the oldest copy; where no copy is newer than the
 * beginning, the live values are the later one.
 */
static bool
read_beginning(int64 from_ns, const Copy *live, Copy *earlier, Copy *later)
{
	Copy	   *before;
	Copy	   *after;

	find_copies(from_ns, &before, &after);
	if (before == NULL)
		before = after;
	if (before == NULL || !read_copy(before, earlier))
		return false;
	if (after == NULL)
		*later = *live;
	else if (!read_copy(after, later))
		return false;
	return earlier->mono_ns != NEVER && later->mono_ns != NEVER &&
		earlier->mono_ns <= later->mono_ns;
}

/* One attempt at a window; the three are working memory. */
static bool
read_window(int64 from_ns, int64 *time_ns, int64 *covered_ns,
			Copy *earlier, Copy *later, Copy *live)
{
	uint64		wanted = pg_atomic_read_u64(&events->generation.wanted);
	double		part = 0;
	int			i;

	if (!WscGenerationValid(&events->generation))
		return false;
	pg_read_barrier();			/* generation before the values; pairs with
								 * WscGenerationAdopt() */
	if (!read_live(live) || live->mono_ns <= from_ns)
		return false;
	if (!read_beginning(from_ns, live, earlier, later))
		return false;
	if (earlier->mono_ns < from_ns && earlier->mono_ns < later->mono_ns)
		part = (double) (from_ns - earlier->mono_ns) /
			(double) (later->mono_ns - earlier->mono_ns);

	*covered_ns = live->covered_ns -
		between(earlier->covered_ns, later->covered_ns, part);
	for (i = 0; i < WSC_MAX_EVENTS; i++)
		time_ns[i] = live->time_ns[i] -
			between(time_in(earlier, i), time_in(later, i), part);

	return WscGenerationValid(&events->generation) &&
		pg_atomic_read_u64(&events->generation.wanted) == wanted;
}

bool
WscEventsWindow(int64 now_ns, int64 window_ns, int64 *time_ns,
				int64 *covered_ns)
{
	Copy	   *copies = palloc(3 * sizeof(Copy));
	bool		done = false;
	int			tries;

	/* A copy can be replaced between being found and being read. */
	for (tries = 0; tries < 3 && !done; tries++)
		done = read_window(now_ns - window_ns, time_ns, covered_ns,
						   &copies[0], &copies[1], &copies[2]);
	pfree(copies);
	return done && *covered_ns >= window_ns / 2;
}

void
WscEventsReset(TimestampTz now)
{
	WscGenerationReset(&events->generation, now);
}

/* Before and after reading rows, hence the barriers. */
TimestampTz
WscEventsResetTime(void)
{
	TimestampTz moment;

	pg_read_barrier();
	moment = WscGenerationTime(&events->generation);
	pg_read_barrier();
	return moment;
}

void
WscEventsInfo(WscStoreInfo *info)
{
	WscEventTotals totals;
	int			i;

	info->entries = 0;
	for (i = 0; i < WSC_MAX_EVENTS; i++)
	{
		if (WscEventsRead((WscEventId) i, &totals))
			info->entries++;
	}
	info->max_entries = WSC_MAX_EVENTS;
	info->span_ns = -1;
	info->evictions = -1;
	info->overwritten = (int64) pg_atomic_read_u64(&events->skipped);
	info->stats_reset = WscGenerationTime(&events->generation);
}
