/*-------------------------------------------------------------------------
 *
 * view_activity.c
 *	  The function behind pg_waitscope_activity: every process, now.
 *
 * Works without preloading.  Each row is consistent as view_process.c has it;
 * rows are of slightly different moments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>

#include "common/ip.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "port/compat.h"
#include "sample/state_class.h"
#include "view.h"
#include "view_process.h"

WSC_SQL_FUNCTION(pg_waitscope_get_activity);

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

/* The relation only if its name can be looked up in this database. */
static void
put_lock(WscRows *rows, const WscProcess *process)
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
put_process(WscRows *rows, const WscProcess *process)
{
	const WscSample *sample = &process->sample;
	const WscStatusText *copy = process->have_text ? &process->text : NULL;

	WscPutInt32(rows, sample->pid);
	WscPutInt32OrNull(rows, sample->leader_pid);
	WscPutText(rows, WscProcessType(process));
	WscPutOidOrNull(rows, sample->datid);
	WscPutOidOrNull(rows, sample->usesysid);
	WscPutApplicationName(rows, process);
	if (copy)
		put_client_addr(rows, &copy->client_addr);
	else
		WscPutNull(rows);
	WscPutText(rows, WscStateName((BackendState) process->detail.state));
	WscPutText(rows, WscStateClassName(sample->state_class));
	WscPutWaitEvent(rows, sample);
	WscPutText(rows, WscLWLockModeName(sample->lwlock_mode));
	put_lock(rows, process);
	WscPutInt64OrNull(rows, sample->queryid);
	WscPutQuery(rows, process);
	WscRowsEnd(rows);
}

/* What pg_stat_activity shows everybody. */
static void
put_process_masked(WscRows *rows, const WscProcess *process)
{
	const WscSample *sample = &process->sample;

	WscPutInt32(rows, sample->pid);
	WscPutNull(rows);			/* leader_pid */
	WscPutNull(rows);			/* backend_type */
	WscPutOidOrNull(rows, sample->datid);
	WscPutOidOrNull(rows, sample->usesysid);
	WscPutApplicationName(rows, process);
	while (rows->n < rows->desc->natts)
		WscPutNull(rows);
	WscRowsEnd(rows);
}

Datum
pg_waitscope_get_activity(PG_FUNCTION_ARGS)
{
	WscProcessReader reader;
	WscPrivileges privileges;
	WscRows		rows;
	WscProcess	process;

	WscProcessReaderBegin(&reader);
	WscPrivilegesBegin(&privileges);
	WscRowsBegin(&rows, fcinfo);
	WscProcessInit(&process);

	for (int slot = 0; slot < WscNumSlots(); slot++)
	{
		if (!WscProcessRead(&reader, slot, &process))
			continue;
		if (WscMaySeeRole(&privileges, process.sample.usesysid))
			put_process(&rows, &process);
		else
			put_process_masked(&rows, &process);
	}
	return (Datum) 0;
}
