/*-------------------------------------------------------------------------
 *
 * procarray.c
 *	  Other processes' PGPROC and status entries, 13 to 19.
 *
 * A status entry is read under its change counter, which its owner makes odd
 * while it writes: 1. read the counter, read barrier; 2. copy; 3. read
 * barrier, read the counter again.  An odd or moved counter means to try
 * again, a few times only: an owner that is stopped in the middle must not
 * hold up the reader.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/shmem.h"
#include "utils/memutils.h"

#include "port/procarray.h"

#define STATUS_TRIES 4

/*
 * Slot of a list link, or -1 if it is none: links of a process that leaves
 * the list while we look may point anywhere.
 */
static int
find_slot_of_link(const void *link)
{
#if PG_VERSION_NUM >= 190000
	Size		link_offset = offsetof(PGPROC, freeProcsLink);
#else
	Size		link_offset = offsetof(PGPROC, links);
#endif
	uintptr_t	first = (uintptr_t) ProcGlobal->allProcs + link_offset;
	uintptr_t	distance = (uintptr_t) link - first;

	if ((uintptr_t) link < first || distance % sizeof(PGPROC) != 0 ||
		distance / sizeof(PGPROC) >= (Size) WscNumSlots())
		return -1;
	return (int) (distance / sizeof(PGPROC));
}

/* 16 made the lists doubly linked ones. */
#if PG_VERSION_NUM >= 160000

static const void *
read_list_head(int list)
{
	volatile dlist_head *heads[WSC_NUM_FREE_LISTS];

	heads[0] = &ProcGlobal->freeProcs;
	heads[1] = &ProcGlobal->autovacFreeProcs;
	heads[2] = &ProcGlobal->bgworkerFreeProcs;
	heads[3] = &ProcGlobal->walsenderFreeProcs;
	return heads[list]->head.next;
}

static const void *
read_next_link(int slot)
{
	volatile PGPROC *proc = WscSlot(slot);

#if PG_VERSION_NUM >= 190000
	return proc->freeProcsLink.next;
#else
	return proc->links.next;
#endif
}

#else

static const void *
read_list_head(int list)
{
	PGPROC	   *volatile *heads[WSC_NUM_FREE_LISTS];

	heads[0] = &ProcGlobal->freeProcs;
	heads[1] = &ProcGlobal->autovacFreeProcs;
	heads[2] = &ProcGlobal->bgworkerFreeProcs;
	heads[3] = &ProcGlobal->walsenderFreeProcs;
	return *heads[list];
}

static const void *
read_next_link(int slot)
{
	volatile PGPROC *proc = WscSlot(slot);

	return proc->links.next;
}

#endif

int
WscPeekFreeList(int list, int *slots, int max_slots)
{
	const void *link = read_list_head(list);
	int			n = 0;

	while (n < max_slots)
	{
		int			slot = find_slot_of_link(link);

		if (slot < 0)
			break;
		slots[n++] = slot;

		/* A process that just left the list: its links mean nothing now. */
		if (WscSlotPid(WscSlot(slot)) != 0)
			break;
		link = read_next_link(slot);
	}
	return n;
}

#if PG_VERSION_NUM >= 140000

/*
 * Our own entry and our own index give the start of the array: no need to
 * know its name or size.
 */
void
WscStatusAttach(WscStatusArray *array)
{
#if PG_VERSION_NUM >= 170000
	int			own = MyProcNumber;

	array->num_entries = MaxBackends + NUM_AUXILIARY_PROCS;
#else
	int			own = MyBackendId - 1;

	array->num_entries = MaxBackends + NUM_AUXPROCTYPES;
#endif

	array->entries = NULL;
	array->problem = NULL;
	if (MyBEEntry == NULL || own < 0 || own >= array->num_entries)
		array->problem = "this process has no status entry";
	else if (MyBEEntry->st_procpid != MyProcPid)
		array->problem = "the status entries have an unknown layout";
	else
		array->entries = MyBEEntry - own;
}

#else

/*
 * The own entry is not visible to us, but the array has a name.  Asking for
 * it with another size raises an error, and a name not known is entered:
 * both mean that this is not the server we know.
 */
void
WscStatusAttach(WscStatusArray *array)
{
	MemoryContext context = CurrentMemoryContext;
	int			num_entries = MaxBackends + NUM_AUXPROCTYPES;

	array->entries = NULL;
	array->num_entries = num_entries;
	array->problem = "the status entries have an unknown layout";
	PG_TRY();
	{
		bool		found;
		void	   *entries;

		entries = ShmemInitStruct("Backend Status Array",
								  mul_size(sizeof(PgBackendStatus),
										   (Size) num_entries),
								  &found);
		if (found)
		{
			array->entries = (PgBackendStatus *) entries;
			array->problem = NULL;
		}
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
}

#endif

/*
 * Entry of the process in that slot; NULL: it has none.  Before 17 backends
 * have a number of their own for it, and auxiliary processes have an entry
 * for each kind, but the slot does not tell the kind.
 */
static volatile PgBackendStatus *
find_entry(const WscStatusArray *array, int slot, int pid)
{
	volatile PgBackendStatus *entries = array->entries;
#if PG_VERSION_NUM >= 170000
	int			entry = slot;
#else
	int			entry = *(volatile int *) &WscSlot(slot)->backendId - 1;

	if (slot >= WscFirstAuxiliarySlot() && entries != NULL)
	{
		entry = MaxBackends;
		while (entry < array->num_entries && entries[entry].st_procpid != pid)
			entry++;
	}
#endif
	if (entries == NULL || entry < 0 || entry >= array->num_entries)
		return NULL;
	return &entries[entry];
}

bool
WscStatusRead(const WscStatusArray *array, int slot, int pid,
			  WscStatus *status)
{
	volatile PgBackendStatus *entry = find_entry(array, slot, pid);

	if (entry == NULL)
		return false;
	for (int i = 0; i < STATUS_TRIES; i++)
	{
		int			entry_pid;
		int			after;

		pgstat_begin_read_activity(entry, status->changecount);
		entry_pid = entry->st_procpid;
		status->backend_type = entry->st_backendType;
		status->state = entry->st_state;
		status->datid = entry->st_databaseid;
		status->usesysid = entry->st_userid;
#if PG_VERSION_NUM >= 140000
		status->queryid = (int64) entry->st_query_id;
#else
		status->queryid = 0;
#endif
		pg_read_barrier();		/* the copy before the second look */
		after = entry->st_changecount;
		if (pgstat_read_activity_complete(status->changecount, after))
			return entry_pid == pid;
	}
	return false;
}

bool
WscStatusReadText(const WscStatusArray *array, int slot, int pid,
				  WscStatusText *copy)
{
	volatile PgBackendStatus *entry = find_entry(array, slot, pid);

	if (entry == NULL)
		return false;
	for (int i = 0; i < STATUS_TRIES; i++)
	{
		int			entry_pid;
		int			after;

		pgstat_begin_read_activity(entry, copy->changecount);
		entry_pid = entry->st_procpid;
		memcpy(&copy->client_addr,
			   unvolatize(SockAddr *, &entry->st_clientaddr),
			   sizeof(SockAddr));
		copy->state_start = entry->st_state_start_timestamp;
		copy->xact_start = entry->st_xact_start_timestamp;
		strlcpy(copy->application_name, entry->st_appname, NAMEDATALEN);
		strlcpy(copy->query, entry->st_activity_raw,
				(Size) pgstat_track_activity_query_size);
		pg_read_barrier();		/* the copy before the second look */
		after = entry->st_changecount;
		if (pgstat_read_activity_complete(copy->changecount, after))
			return entry_pid == pid;
	}
	return false;
}

const char *
WscStateName(BackendState state)
{
	switch (state)
	{
		case STATE_IDLE:
			return "idle";
		case STATE_RUNNING:
			return "active";
		case STATE_IDLEINTRANSACTION:
			return "idle in transaction";
		case STATE_FASTPATH:
			return "fastpath function call";
		case STATE_IDLEINTRANSACTION_ABORTED:
			return "idle in transaction (aborted)";
		case STATE_DISABLED:
			return "disabled";
#if PG_VERSION_NUM >= 180000
		case STATE_STARTING:
			return "starting";
#endif
		default:
			return NULL;
	}
}
