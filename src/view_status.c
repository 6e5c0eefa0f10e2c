/*-------------------------------------------------------------------------
 *
 * view_status.c
 *	  Function behind the status: is it working, what does it cost, what is
 *	  missing and why.
 *
 * It must answer whatever is broken, most of all when the sampler is not
 * there or stopped; figures of the sampler that cannot be read are NULL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "keeper.h"
#include "port/compat.h"
#include "port/timer.h"
#include "sampler.h"
#include "shmem.h"
#include "view.h"

/* No tick for that many periods, and for a second, is called stalled. */
#define STALLED_PERIODS 10

/* Nor may the keeper sleep that many naps long. */
#define STALLED_NAPS 5

WSC_SQL_FUNCTION(pg_waitscope_get_status);

/*
 * Adds a reason.  The word in front of the colon is stable, for programs;
 * the sentence behind it is for people.
 */
static void
add_reason(ArrayBuildState **reasons, const char *reason)
{
	*reasons = accumArrayResult(*reasons, CStringGetTextDatum(reason), false,
								TEXTOID, CurrentMemoryContext);
}

static void
add_sampler_reasons(ArrayBuildState **reasons, const WscSamplerStatus *status)
{
	TimestampTz last = Max(status->last_tick_at, status->started_at);
	int64		age_us;
	int64		limit_us = STALLED_PERIODS * status->period_ns / 1000;

	/* A reload may have switched sampling on, or started a new grid. */
	last = Max(last, PgReloadTime);
	age_us = GetCurrentTimestamp() - last;

	if (status->pid == 0)
	{
		if (status->starts > 0)
			add_reason(reasons,
					   "sampler_not_running: The sampler has ended; "
					   "the server starts it again within seconds.");
		else
			add_reason(reasons,
					   "sampler_not_running: The sampler has not started yet; "
					   "if it stays so, increase \"max_worker_processes\" and "
					   "restart the server.");
		return;
	}
	if (status->status_problem[0] != '\0')
		add_reason(reasons,
				   psprintf("status_entries_unavailable: State, database, "
							"user and query of processes are not known: %s.",
							status->status_problem));
	if (wsc_lwlock_instances && status->walk_problem[0] != '\0')
		add_reason(reasons,
				   psprintf("lwlock_instances_unavailable: Waits are not "
							"counted per single LWLock: %s.",
							status->walk_problem));
	if (status->sampling && age_us > Max(limit_us, USECS_PER_SEC))
		add_reason(reasons,
				   psprintf("sampler_stalled: The sampler has taken no sample "
							"for %d s; it is stopped, or gets no CPU time.",
							(int) (age_us / USECS_PER_SEC)));
}

static void
add_keeper_reasons(ArrayBuildState **reasons, const WscKeeperStatus *keeper)
{
	int64		age_ms = (WscTimerNow() - keeper->alive_ns) / 1000000;

	if (keeper->pid != 0)
	{
		if (age_ms > (int64) STALLED_NAPS * WSC_KEEPER_NAP_MS)
			add_reason(reasons,
					   psprintf("keeper_stalled: Hot blocks are not looked "
								"for: the keeper has done nothing for %d s; "
								"it is stopped, or gets no CPU time.",
								(int) (age_ms / 1000)));
	}
	else if (keeper->starts > 0)
		add_reason(reasons,
				   "keeper_not_running: Hot blocks are not looked for: the "
				   "keeper has ended; the server starts it again within "
				   "seconds.");
	else
		add_reason(reasons,
				   "keeper_not_running: Hot blocks are not looked for: the "
				   "keeper has not started yet; if it stays so, increase "
				   "\"max_worker_processes\" and restart the server.");
}

static Datum
list_reasons(const WscSamplerStatus *status, const WscKeeperStatus *keeper)
{
	ArrayBuildState *reasons = NULL;
	const char *track_activities;
	bool		sampling = wsc_sampling;

	if (status != NULL && status->pid != 0)
		sampling = status->sampling;
	if (status != NULL)
		add_sampler_reasons(&reasons, status);
	else
		add_reason(&reasons,
				   "sampler_status_unreadable: The sampler stands still "
				   "while it changes its figures.");
	add_keeper_reasons(&reasons, keeper);
	if (!sampling)
		add_reason(&reasons,
				   "sampling_off: No samples are taken because "
				   "\"pg_waitscope.sampling\" is off.");
	if (!WscQueryIdEnabled())
		add_reason(&reasons,
				   "query_ids_unavailable: " WSC_QUERY_IDS_MISSING);

	/* What sessions start with, not what this one has set. */
	track_activities = GetConfigOptionResetString("track_activities");
	if (strcmp(track_activities, "off") == 0)
		add_reason(&reasons,
				   "track_activities_off: Processes do not report what they "
				   "do because \"track_activities\" is off.");

	if (reasons == NULL)
		return PointerGetDatum(construct_empty_array(TEXTOID));
	return makeArrayResult(reasons, CurrentMemoryContext);
}

static void
put_nulls(WscRows *rows, int n)
{
	while (n-- > 0)
		WscPutNull(rows);
}

/* restarts to sampler_cpu_time: what the sampler says of itself. */
static void
put_sampler(WscRows *rows, const WscSamplerStatus *status)
{
	bool		runs = status->pid != 0;
	int64		period_ns = (int64) rint(wsc_sample_period * 1000000.0);

	WscPutInt64(rows, Max(status->starts - 1, 0));
	WscPut(rows, BoolGetDatum(runs ? status->sampling : wsc_sampling));
	WscPutTime(rows, runs ? status->period_ns : period_ns);
	WscPutInt64(rows, status->ticks);
	WscPutInt64(rows, status->ticks_missed);
	WscPutTime(rows, status->max_lateness_ns);
	WscPutTime(rows, status->covered_ns);
	WscPutTime(rows, status->cpu_ns);
}

static void
put_counts(WscRows *rows, const WscSamplerStatus *status)
{
	WscPutInt64(rows, status->class_samples[WSC_IDLE]);
	WscPutInt64(rows, status->class_samples[WSC_IDLE_IN_TRANSACTION]);
	WscPutInt64(rows, status->class_samples[WSC_BACKGROUND_IDLE]);
	WscPutInt64(rows, status->class_samples[WSC_HIDDEN]);
}

Datum
pg_waitscope_get_status(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscSamplerStatus status;
	WscKeeperStatus keeper;
	bool		readable;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	readable = WscSamplerRead(&status);
	WscKeeperRead(&keeper);

	if (readable)
	{
		WscPutInt32OrNull(&rows, status.pid);
		WscPutMoment(&rows, status.started_at);
	}
	else
		put_nulls(&rows, 2);
	WscPutInt32OrNull(&rows, keeper.pid);
	if (readable)
		put_sampler(&rows, &status);
	else
		put_nulls(&rows, 8);
	WscPutTime(&rows, keeper.cpu_ns);
	WscPutInt32(&rows, (int32) sysconf(_SC_NPROCESSORS_ONLN));
	if (readable)
		put_counts(&rows, &status);
	else
		put_nulls(&rows, 4);
	WscPut(&rows, list_reasons(readable ? &status : NULL, &keeper));
	WscPutText(&rows, "off");
	WscPutText(&rows, "Exact mode is not part of this version.");
	WscPutMoment(&rows, PgStartTime);
	WscPutInt64(&rows, WscShmemEpoch());
	if (readable)
		WscPutTime(&rows, status.scan_delay_ticks * status.period_ns);
	else
		WscPutNull(&rows);
	WscRowsEnd(&rows);
	return (Datum) 0;
}
