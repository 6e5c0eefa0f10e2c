/*-------------------------------------------------------------------------
 *
 * view_stores.c
 *	  Functions behind the views that show one store each, and reset.
 *
 * Each walks its store row by row and holds nothing meanwhile: a reader that
 * is stopped anywhere in here keeps nobody waiting.  So each row is
 * consistent and the set is not.
 *
 * What a session of another role does is hidden here and not in the views,
 * since anybody may call the functions.  What only counts events, without
 * role, object or query, is open to all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "lock/lockstat.h"
#include "port/compat.h"
#include "shmem.h"
#include "store/eventdict.h"
#include "store/events.h"
#include "store/instances.h"
#include "store/lwlocks.h"
#include "store/profile.h"
#include "store/ring.h"
#include "store/runs.h"
#include "view.h"

WSC_SQL_FUNCTION(pg_waitscope_get_events);
WSC_SQL_FUNCTION(pg_waitscope_get_history);
WSC_SQL_FUNCTION(pg_waitscope_get_profile);
WSC_SQL_FUNCTION(pg_waitscope_get_wait_lengths);
WSC_SQL_FUNCTION(pg_waitscope_get_lwlocks);
WSC_SQL_FUNCTION(pg_waitscope_get_lwlock_instances);
WSC_SQL_FUNCTION(pg_waitscope_get_fmlocks);
WSC_SQL_FUNCTION(pg_waitscope_get_stores);
WSC_SQL_FUNCTION(pg_waitscope_reset);

/*
 * All rows of the events store and the moment of the reset they have counted
 * from; samples are all 0 where there is no row.  A reset that comes between
 * means to start again: nobody resets a thousand times a second.
 */
static TimestampTz
read_events(WscEventTotals *totals, int count)
{
	TimestampTz reset_at;

	do
	{
		CHECK_FOR_INTERRUPTS();
		reset_at = WscEventsResetTime();
		for (int id = 0; id < count; id++)
		{
			if (!WscEventsRead((WscEventId) id, &totals[id]))
				memset(&totals[id], 0, sizeof(totals[id]));
		}
	} while (WscEventsResetTime() != reset_at);
	return reset_at;
}

Datum
pg_waitscope_get_events(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscEventTotals *all;
	TimestampTz reset_at;
	int			count;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	count = WscEventDictCount();
	all = palloc(sizeof(WscEventTotals) * (Size) count);
	reset_at = read_events(all, count);
	for (int id = 0; id < count; id++)
	{
		WscEventTotals totals = all[id];

		if (totals.samples == 0 && totals.background_samples == 0)
			continue;
		WscPutInt32(&rows, id);
		WscPutInt64(&rows, totals.samples);
		WscPutTime(&rows, totals.time_ns);
		WscPutInt64(&rows, totals.background_samples);
		WscPutTime(&rows, totals.background_time_ns);
		WscPutMoment(&rows, reset_at);
		WscPutInt64(&rows, WscShmemEpoch());
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

/* A sample of a role that the user may not look at, as much as he may see. */
static void
put_masked_sample(WscRows *rows, const WscSample *sample)
{
	WscPutInt32(rows, sample->pid);
	WscPutNull(rows);			/* leader_pid */
	WscPutNull(rows);			/* backend_type */
	WscPutOidOrNull(rows, sample->datid);
	WscPutOidOrNull(rows, sample->usesysid);
	for (int i = 0; i < 8; i++)
		WscPutNull(rows);		/* state_class to queryid */
}

static void
put_sample(WscRows *rows, const WscSample *sample)
{
	WscPutInt32(rows, sample->pid);
	WscPutInt32OrNull(rows, sample->leader_pid);
	WscPutInt32OrNull(rows, sample->backend_type);
	WscPutOidOrNull(rows, sample->datid);
	WscPutOidOrNull(rows, sample->usesysid);
	WscPutInt32(rows, sample->state_class);
	WscPutInt32(rows, sample->event);
	WscPutInt32OrNull(rows, sample->lwlock_mode);
	WscPutInt32OrNull(rows, sample->locktype);
	WscPutOidOrNull(rows, sample->lock_datid);
	WscPutOidOrNull(rows, sample->lock_relid);
	WscPutInt32OrNull(rows, sample->lock_mode);
	WscPutInt64OrNull(rows, sample->queryid);
}

Datum
pg_waitscope_get_history(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscPrivileges privileges;
	WscRingReader *reader;
	WscSample	sample;
	TimestampTz sampled_at;
	int64		weight_ns;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	WscPrivilegesBegin(&privileges);
	reader = WscRingOpen();
	while (WscRingNext(reader, &sample, &sampled_at, &weight_ns))
	{
		CHECK_FOR_INTERRUPTS();
		WscPut(&rows, TimestampTzGetDatum(sampled_at));
		if (WscMaySeeRole(&privileges, sample.usesysid))
			put_sample(&rows, &sample);
		else
			put_masked_sample(&rows, &sample);
		WscPutTime(&rows, weight_ns);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

static void
put_profile_sums(WscRows *rows, const WscProfileEntry *entry)
{
	WscPutInt64(rows, entry->samples);
	WscPutTime(rows, entry->time_ns);
	WscPutMoment(rows, entry->first_seen);
	WscPutMoment(rows, entry->last_seen);
	WscRowsEnd(rows);
}

static void
put_profile_entry(WscRows *rows, const WscProfileEntry *entry)
{
	const WscProfileKey *key = &entry->key;

	if (key->backend_type == PG_UINT8_MAX)
		WscPutNull(rows);
	else
		WscPutInt32OrNull(rows, key->backend_type);
	WscPutOidOrNull(rows, key->datid);
	WscPutOidOrNull(rows, key->usesysid);
	WscPutInt64OrNull(rows, key->queryid);
	WscPutInt32OrNull(rows, key->pid);
	WscPutInt32(rows, key->event);
	WscPutInt32OrNull(rows, key->lwlock_mode);
	put_profile_sums(rows, entry);
}

static void
add_to_remainder(WscProfileEntry *remainder, const WscProfileEntry *entry)
{
	if (remainder->samples == 0 || entry->first_seen < remainder->first_seen)
		remainder->first_seen = entry->first_seen;
	remainder->last_seen = Max(remainder->last_seen, entry->last_seen);
	remainder->samples += entry->samples;
	remainder->time_ns += entry->time_ns;
}

/*
 * Entries of roles that the user may not look at make one remainder row, so
 * that sums stay true.  Without the user dimension an entry belongs to
 * nobody known, and only who sees all sees it.
 */
Datum
pg_waitscope_get_profile(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	WscPrivileges privileges;
	WscProfileEntry remainder;
	int			nslots;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	WscPrivilegesBegin(&privileges);
	memset(&remainder, 0, sizeof(remainder));
	nslots = WscProfileSlots();
	for (int slot = 0; slot < nslots; slot++)
	{
		WscProfileEntry entry;

		CHECK_FOR_INTERRUPTS();
		if (!WscProfileRead(slot, &entry))
			continue;
		if (WscMaySeeRole(&privileges, entry.key.usesysid))
			put_profile_entry(&rows, &entry);
		else
			add_to_remainder(&remainder, &entry);
	}
	if (remainder.samples > 0)
	{
		for (int i = 0; i < 7; i++)
			WscPutNull(&rows);	/* backend_type to lwlock_mode */
		put_profile_sums(&rows, &remainder);
	}
	return (Datum) 0;
}

Datum
pg_waitscope_get_wait_lengths(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	int			count;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	count = WscEventDictCount();
	for (int id = 0; id < count; id++)
	{
		WscRunTotals totals;

		if (!WscRunsRead((WscEventId) id, &totals))
			continue;
		WscPutInt32(&rows, id);
		WscPutInt64(&rows, totals.runs);
		WscPutTime(&rows, totals.time_ns);
		WscPutTime(&rows, totals.max_ns);
		WscPutCounts(&rows, totals.histogram, WSC_LENGTH_CLASSES);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

Datum
pg_waitscope_get_lwlocks(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	int			count;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	count = WscEventDictCount();
	for (int id = 0; id < count; id++)
	{
		WscLWLockTotals totals;

		if (!WscLWLocksRead((WscEventId) id, &totals))
			continue;
		WscPutInt32(&rows, id);
		WscPutInt64(&rows, totals.samples);
		WscPutTime(&rows, totals.time_ns);
		WscPutInt64(&rows, totals.shared_samples);
		WscPutInt64(&rows, totals.exclusive_samples);
		WscPutInt64(&rows, totals.until_free_samples);
		WscPutInt64(&rows, totals.waiting_ticks);
		WscPutInt64(&rows, totals.waiter_sum);
		WscPutInt64(&rows, totals.max_waiters);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

Datum
pg_waitscope_get_lwlock_instances(PG_FUNCTION_ARGS)
{
	WscRows		rows;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	for (int row = 0; row < WSC_LOCK_ROWS; row++)
	{
		WscInstanceTotals totals;

		if (!WscInstancesRead(row, &totals))
			continue;
		WscPutInt32(&rows, totals.event);
		if (totals.lock_index == WSC_LOCK_UNKNOWN)
			WscPutNull(&rows);
		else
			WscPutInt32(&rows, totals.lock_index);
		WscPutInt64(&rows, totals.samples);
		WscPutInt64(&rows, totals.shared_samples);
		WscPutInt64(&rows, totals.exclusive_samples);
		WscPutInt64(&rows, totals.max_waiters);
		WscPutTime(&rows, totals.time_ns);
		WscPutMoment(&rows, totals.last_seen);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

Datum
pg_waitscope_get_fmlocks(PG_FUNCTION_ARGS)
{
	WscRows		rows;
	int			count;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	count = LockStatCount();
	for (int i = 0; i < count * FMLOCK_NUM_MODES; i++)
	{
		FmLockMode	mode = (FmLockMode) (i % FMLOCK_NUM_MODES);
		LockStatRow row;

		if (!LockStatRead(i / FMLOCK_NUM_MODES, mode, &row))
			continue;
		WscPutText(&rows, row.name);
		WscPutText(&rows, mode == FMLOCK_EXCLUSIVE ? "exclusive" : "shared");
		WscPutInt64(&rows, row.gets);
		WscPutInt64(&rows, row.misses);
		WscPutInt64(&rows, row.cas_retries);
		WscPutInt64(&rows, row.spin_gets);
		WscPutInt64(&rows, row.sleeps);
		WscPutTime(&rows, row.wait_ns);
		WscPutTime(&rows, row.max_wait_ns);
		WscPutCounts(&rows, row.histogram, LOCKSTAT_BUCKETS);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

/* -1 in a store's figures says that the store has no such figure. */
static void
put_figure(WscRows *rows, int64 value)
{
	if (value >= 0)
		WscPutInt64(rows, value);
	else
		WscPutNull(rows);
}

Datum
pg_waitscope_get_stores(PG_FUNCTION_ARGS)
{
	WscRows		rows;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	for (int i = 0; i < wsc_num_regions; i++)
	{
		const WscRegion *region = &wsc_regions[i];
		WscStoreInfo info = {-1, -1, -1, -1, -1, 0};

		if (region->info != NULL)
			region->info(&info);
		WscPutText(&rows, region->name);
		put_figure(&rows, info.entries);
		put_figure(&rows, info.max_entries);
		WscPutInt64(&rows, (int64) region->size());
		if (info.span_ns >= 0)
			WscPutTime(&rows, info.span_ns);
		else
			WscPutNull(&rows);
		put_figure(&rows, info.evictions);
		put_figure(&rows, info.overwritten);
		WscPutMoment(&rows, info.stats_reset);
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

/* The stores that can be reset, for a message. */
static char *
list_resettable_stores(void)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < wsc_num_regions; i++)
		if (wsc_regions[i].reset != NULL)
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
							 wsc_regions[i].name);
	return list.data;
}

/*
 * Resets one store, or all of them.  Each raises a generation that readers
 * compare, so it has happened on return whatever the sampler does.
 */
Datum
pg_waitscope_reset(PG_FUNCTION_ARGS)
{
	TimestampTz now = GetCurrentTimestamp();
	char	   *name = NULL;
	bool		found = false;

	WscRequirePreload();
	if (!PG_ARGISNULL(0))
		name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	for (int i = 0; i < wsc_num_regions; i++)
	{
		const WscRegion *region = &wsc_regions[i];

		if (region->reset == NULL ||
			(name != NULL && strcmp(name, region->name) != 0))
			continue;
		region->reset(now);
		found = true;
	}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized store \"%s\"", name),
				 errhint("Stores that can be reset are: %s.",
						 list_resettable_stores())));
	PG_RETURN_VOID();
}
