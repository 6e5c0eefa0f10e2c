/*-------------------------------------------------------------------------
 *
 * view_activity.c
 *	  The function behind pg_waitscope_activity: every process, now.
 *
 * Works without preloading: the calling backend reads the process array
 * itself.  The wait and the status of a row belong together as far as the
 * status entry did not change from before the wait was read until after
 * everything was copied; this is tried a few times.  Rows are of slightly
 * different moments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>

#include "common/ip.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"

#include "port/compat.h"
#include "port/procarray.h"
#include "sample/scan.h"
#include "sample/state_class.h"
#include "store/eventdict.h"
#include "view.h"

#define ROW_TRIES 4

/* All that is known of one process. */
typedef struct Process
{
	WscSample	sample;
	WscSampleDetail detail;
	bool		have_text;
	WscStatusText text;
} Process;

WSC_SQL_FUNCTION(pg_waitscope_get_activity);

/* False if there is no process in that slot. */
static bool
read_process(const WscScanner *scanner, const WscStatusArray *array, int slot,
			 Process *process)
{
	WscScanOptions options = {.idle = true,.self = true};

	for (int i = 0; i < ROW_TRIES; i++)
	{
		if (!WscScanSlot(scanner, &options, slot, &process->sample,
						 &process->detail))
			return false;
		process->have_text =
			(process->sample.flags & WSC_SAMPLE_NO_STATUS) == 0 &&
			WscStatusReadText(array, slot, process->sample.pid,
							  &process->text);
		if (process->have_text &&
			process->text.changecount == process->detail.changecount)
			break;
	}
	return true;
}

static const char *
find_backend_type(const WscSample *sample)
{
	if (sample->backend_type == B_BG_WORKER)
		return GetBackgroundWorkerTypeByPid(sample->pid);
	return WscBackendTypeName(sample->backend_type);
}

/* NULL for connections through a Unix socket, as in pg_stat_activity. */
static void
put_client_addr(WscRows *rows, const SockAddr *addr)
{
	char		host[NI_MAXHOST];
	int			family = addr->addr.ss_family;

	if ((family != AF_INET && family != AF_INET6) ||
		pg_getnameinfo_all(&addr->addr, (int) addr->salen, host, sizeof(host),
						   NULL, 0, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
	{
		WscPutNull(rows);
		return;
	}
	clean_ipv6_addr(family, host);
	WscPut(rows, DirectFunctionCall1(inet_in, CStringGetDatum(host)));
}

/* Texts are never empty: an empty one says as little as NULL. */
static void
put_text_or_null(WscRows *rows, const char *value)
{
	WscPutText(rows, value != NULL && value[0] != '\0' ? value : NULL);
}

static void
put_wait(WscRows *rows, const WscSample *sample)
{
	WscEventName name;

	if (sample->wait_event_info == 0)
	{
		WscPutNull(rows);
		WscPutNull(rows);
	}
	else
	{
		WscEventCodeName(sample->wait_event_info, &name);
		WscPutText(rows, name.type);
		WscPutText(rows, name.name);
	}
	WscPutText(rows, WscLWLockModeName(sample->lwlock_mode));
}

/* The relation only if its name can be looked up in this database. */
static void
put_lock(WscRows *rows, const Process *process)
{
	const WscSample *sample = &process->sample;

	WscPutText(rows, WscLockTypeName(sample->locktype));
	if (sample->lock_datid == MyDatabaseId || sample->lock_datid == InvalidOid)
		WscPutOidOrNull(rows, sample->lock_relid);
	else
		WscPutNull(rows);
	WscPutText(rows, WscLockModeName(sample->lock_mode));
	WscPutMoment(rows, process->detail.lock_wait_start);
}

static void
put_process(WscRows *rows, const Process *process)
{
	const WscSample *sample = &process->sample;
	const WscStatusText *copy = process->have_text ? &process->text : NULL;
	char	   *query = copy ? pgstat_clip_activity(copy->query) : NULL;

	WscPutInt32(rows, sample->pid);
	WscPutInt32OrNull(rows, sample->leader_pid);
	WscPutText(rows, find_backend_type(sample));
	WscPutOidOrNull(rows, sample->datid);
	WscPutOidOrNull(rows, sample->usesysid);
	put_text_or_null(rows, copy ? copy->application_name : NULL);
	if (copy)
		put_client_addr(rows, &copy->client_addr);
	else
		WscPutNull(rows);
	WscPutText(rows, WscStateName((BackendState) process->detail.state));
	WscPutText(rows, WscStateClassName(sample->state_class));
	put_wait(rows, sample);
	put_lock(rows, process);
	WscPutInt64OrNull(rows, sample->queryid);
	put_text_or_null(rows, query);
	WscRowsEnd(rows);
}

/* What pg_stat_activity shows everybody. */
static void
put_process_masked(WscRows *rows, const Process *process)
{
	const WscSample *sample = &process->sample;

	WscPutInt32(rows, sample->pid);
	WscPutNull(rows);			/* leader_pid */
	WscPutNull(rows);			/* backend_type */
	WscPutOidOrNull(rows, sample->datid);
	WscPutOidOrNull(rows, sample->usesysid);
	put_text_or_null(rows, process->have_text ?
					 process->text.application_name : NULL);
	while (rows->n < rows->desc->natts)
		WscPutNull(rows);
	WscRowsEnd(rows);
}

Datum
pg_waitscope_get_activity(PG_FUNCTION_ARGS)
{
	WscScanner *scanner = WscScannerCreate();
	WscStatusArray array;
	WscPrivileges privileges;
	WscRows		rows;
	Process		process;

	WscStatusAttach(&array);
	WscPrivilegesBegin(&privileges);
	WscRowsBegin(&rows, fcinfo);
	memset(&process, 0, sizeof(process));
	process.text.query = palloc((Size) pgstat_track_activity_query_size);

	for (int slot = 0; slot < WscScannerSlots(scanner); slot++)
	{
		if (!read_process(scanner, &array, slot, &process))
			continue;
		if (WscMaySeeRole(&privileges, process.sample.usesysid))
			put_process(&rows, &process);
		else
			put_process_masked(&rows, &process);
	}
	return (Datum) 0;
}
