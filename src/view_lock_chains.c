/*-------------------------------------------------------------------------
 *
 * view_lock_chains.c
 *	  The function behind pg_waitscope_lock_chains: who waits for whom, now.
 *
 * Works without preloading.  Locks, queues and who waits for whom are of one
 * moment; state, event and query of each process are read right afterwards,
 * in the way of pg_waitscope_activity, and only if the process still is the
 * one that was seen in the locks.
 *
 * Below the trees stands the replay of a standby while it is held up by
 * something else than a lock: the server does not tell by whom.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "port/contended_locks.h"
#include "port/wait_events.h"
#include "sample/lock_graph.h"
#include "view.h"
#include "view_process.h"

#define WAIT_COLUMNS 10			/* held_by to wait_time */
#define PROCESS_COLUMNS 11		/* backend_type to query */

typedef struct Chains
{
	WscLockTable table;
	WscLockGraph graph;
	int		   *held_by;
	int		   *queued_behind;
	WscProcessReader reader;
	WscProcess	process;
	WscRows		rows;
	int			line;
} Chains;

WSC_SQL_FUNCTION(pg_waitscope_get_lock_chains);

static void
put_nulls(WscRows *rows, int n)
{
	while (n-- > 0)
		WscPutNull(rows);
}

static void
put_pids(WscRows *rows, const int *pids, int n)
{
	Datum	   *datums = palloc((Size) (n + 1) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		datums[i] = Int32GetDatum(pids[i]);
	WscPut(rows, PointerGetDatum(construct_array(datums, n, INT4OID,
												 sizeof(int32), true,
												 TYPALIGN_INT)));
}

static void
put_time_since(WscRows *rows, TimestampTz since, TimestampTz now)
{
	if (since != 0)
		WscPutTime(rows, Max(now - since, 0) * 1000);
	else
		WscPutNull(rows);
}

/* Type, database and relation as in pg_locks, and what else names it. */
static void
put_tag(WscRows *rows, const LOCKTAG *tag)
{
	Oid			datid = InvalidOid;
	Oid			relid = InvalidOid;
	uint32		field2 = tag->locktag_field2;
	uint32		field3 = tag->locktag_field3;
	uint32		field4 = tag->locktag_field4;
	const char *key = NULL;

	switch ((LockTagType) tag->locktag_type)
	{
		case LOCKTAG_RELATION:
		case LOCKTAG_RELATION_EXTEND:
			relid = field2;
			break;
		case LOCKTAG_PAGE:
			relid = field2;
			key = psprintf("%u", field3);
			break;
		case LOCKTAG_TUPLE:
			relid = field2;
			key = psprintf("(%u,%u)", field3, field4);
			break;
		case LOCKTAG_TRANSACTION:
			key = psprintf("%u", tag->locktag_field1);
			break;
		case LOCKTAG_VIRTUALTRANSACTION:
		case LOCKTAG_SPECULATIVE_TOKEN:
			key = psprintf("%u/%u", tag->locktag_field1, field2);
			break;
		case LOCKTAG_ADVISORY:
			if (field4 == 1)
				key = psprintf(INT64_FORMAT,
							   (int64) ((uint64) field2 << 32 | field3));
			else
				key = psprintf("(%d,%d)", (int32) field2, (int32) field3);
			break;
		case LOCKTAG_DATABASE_FROZEN_IDS:
			break;
		default:
			key = psprintf("%u/%u/%u", field2, field3, field4);
			break;
	}
	if (tag->locktag_type != LOCKTAG_TRANSACTION &&
		tag->locktag_type != LOCKTAG_VIRTUALTRANSACTION &&
		tag->locktag_type != LOCKTAG_SPECULATIVE_TOKEN)
		datid = tag->locktag_field1;

	WscPutText(rows, WscLockTypeName(tag->locktag_type + 1));
	WscPutOidOrNull(rows, datid);
	WscPutOidOrNull(rows, relid);
	WscPutText(rows, key);
}

/* The strongest mode that is in the way of those that the blocker holds. */
static const char *
find_blocker_mode(const WscLockTable *table, const WscLockNode *node)
{
	const WscLockEntry *entry = &table->entries[node->entry];
	const WscLockEntry *blocker;
	LOCKMASK	conflicts =
	table->locks[entry->lock].conflicts[entry->wanted];

	if (node->blocker < 0)
		return NULL;
	blocker = &table->entries[node->blocker];
	for (LOCKMODE mode = MaxLockMode; mode > NoLock; mode--)
		if (conflicts & blocker->held & LOCKBIT_ON(mode))
			return WscLockModeName(mode);
	return WscLockModeName(blocker->wanted);
}

/* held_by to wait_time. */
static void
put_wait(Chains *chains, int index)
{
	const WscLockTable *table = &chains->table;
	const WscLockNode *node = &chains->graph.nodes[index];
	const WscLockEntry *entry = &table->entries[node->entry];
	WscRows    *rows = &chains->rows;
	int			num_held_by;
	int			num_queued_behind;

	WscLockBlockers(&chains->graph, index,
					chains->held_by, &num_held_by,
					chains->queued_behind, &num_queued_behind);
	put_pids(rows, chains->held_by, num_held_by);
	put_pids(rows, chains->queued_behind, num_queued_behind);
	put_tag(rows, &table->locks[entry->lock].tag);
	WscPutText(rows, WscLockModeName(entry->wanted));
	WscPutText(rows, find_blocker_mode(table, node));
	WscPutMoment(rows, entry->wait_start);
	put_time_since(rows, entry->wait_start, table->read_at);
}

/* backend_type to query: the last columns. */
static void
put_process(Chains *chains, bool is_known)
{
	const WscProcess *process = &chains->process;
	const WscSample *sample = &process->sample;
	const WscStatusText *copy = process->have_text ? &process->text : NULL;
	TimestampTz now = chains->table.read_at;
	WscRows    *rows = &chains->rows;

	if (!is_known)
		put_nulls(rows, PROCESS_COLUMNS);
	else
	{
		WscPutText(rows, WscProcessType(process));
		WscPutText(rows, WscStateName((BackendState) process->detail.state));
		put_time_since(rows, copy ? copy->state_start : 0, now);
		put_time_since(rows, copy ? copy->xact_start : 0, now);
		WscPutWaitEvent(rows, sample);
		WscPutOidOrNull(rows, sample->datid);
		WscPutOidOrNull(rows, sample->usesysid);
		WscPutApplicationName(rows, process);
		WscPutInt64OrNull(rows, sample->queryid);
		WscPutQuery(rows, process);
	}
	WscRowsEnd(rows);
}

static void
put_node(Chains *chains, int index)
{
	const WscLockGraph *graph = &chains->graph;
	const WscLockNode *node = &graph->nodes[index];
	int			leader_pid = graph->groups[node->group].leader_pid;
	WscRows    *rows = &chains->rows;

	WscPutInt32(rows, ++chains->line);
	WscPutMoment(rows, chains->table.read_at);
	WscPutInt32(rows, node->depth);
	WscPutInt32OrNull(rows, node->pid);
	WscPutInt32OrNull(rows, leader_pid != node->pid ? leader_pid : 0);
	if (node->prepared_xid != InvalidTransactionId)
		WscPut(rows, TransactionIdGetDatum(node->prepared_xid));
	else
		WscPutNull(rows);
	WscPutInt32OrNull(rows, graph->nodes[node->root].pid);
	WscPutInt64(rows, node->blocked_count);
	WscPut(rows, BoolGetDatum(node->in_cycle));
	if (node->entry >= 0)
		put_wait(chains, index);
	else
		put_nulls(rows, WAIT_COLUMNS);
	put_process(chains,
				node->pid != 0 &&
				WscProcessRead(&chains->reader, node->slot,
							   &chains->process) &&
				chains->process.sample.pid == node->pid);
}

static void
put_recovery_conflict(Chains *chains)
{
	WscRows    *rows = &chains->rows;
	int			pid = chains->process.sample.pid;

	WscPutInt32(rows, ++chains->line);
	WscPutMoment(rows, chains->table.read_at);
	WscPutInt32(rows, 0);		/* depth */
	WscPutInt32(rows, pid);
	put_nulls(rows, 2);			/* leader_pid, prepared_xid */
	WscPutInt32(rows, pid);		/* root_pid */
	WscPutInt64(rows, 0);		/* blocked_count */
	WscPut(rows, BoolGetDatum(false));	/* in_cycle */
	put_nulls(rows, WAIT_COLUMNS);
	put_process(chains, true);
}

static bool
is_in_graph(const WscLockGraph *graph, int slot)
{
	for (int i = 0; i < graph->num_nodes; i++)
		if (graph->nodes[i].slot == slot)
			return true;
	return false;
}

Datum
pg_waitscope_get_lock_chains(PG_FUNCTION_ARGS)
{
	Chains		chains = {0};
	MemoryContext row_context;
	MemoryContext context;

	WscLockTableRead(&chains.table);
	WscLockGraphBuild(&chains.graph, &chains.table);
	chains.held_by = palloc((Size) (chains.graph.num_groups + 1) * sizeof(int));
	chains.queued_behind =
		palloc((Size) (chains.graph.num_groups + 1) * sizeof(int));

	WscProcessReaderBegin(&chains.reader);
	WscProcessInit(&chains.process);
	WscRowsBegin(&chains.rows, fcinfo);

	/* The arrays of a long queue are half as many pids as its square. */
	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"pg_waitscope lock chains",
										ALLOCSET_DEFAULT_SIZES);
	context = MemoryContextSwitchTo(row_context);
	for (int i = 0; i < chains.graph.num_nodes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_node(&chains, chains.graph.order[i]);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(context);
	MemoryContextDelete(row_context);
	for (int slot = WscFirstAuxiliarySlot(); slot < WscNumSlots(); slot++)
		if (WscWaitIsRecoveryConflict(WscSlotWaitEvent(WscSlot(slot))) &&
			!is_in_graph(&chains.graph, slot) &&
			WscProcessRead(&chains.reader, slot, &chains.process))
			put_recovery_conflict(&chains);
	return (Datum) 0;
}
