/*-------------------------------------------------------------------------
 *
 * procarray.h
 *	  Other processes' PGPROC and status entries, 13 to 19.
 *
 * Everything is read without a lock, while the owners write.  Slots of the
 * process array are permanent; whether a process sits in one says
 * WscSlotPid(), not PGPROC.pid, which before 17 stays behind when a backend
 * ends.  All functions for slots may be called with any slot, used or not;
 * what they return is good only if the slot's pid is the same afterwards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_PROCARRAY_H
#define WSC_PROCARRAY_H

#include "libpq/pqcomm.h"
#include "port/atomics.h"
#include "port/compat.h"
#include "storage/lock.h"

/* Free lists: client backends, autovacuum, background workers, walsenders. */
#define WSC_NUM_FREE_LISTS 4

/* Status columns of one process, all of the same moment. */
typedef struct WscStatus
{
	int			changecount;	/* the same again: nothing has changed */
	BackendType backend_type;
	BackendState state;
	Oid			datid;
	Oid			usesysid;
	int64		queryid;		/* of the last statement; 0: none */
} WscStatus;

/* What takes longer to copy. */
typedef struct WscStatusText
{
	int			changecount;
	char		application_name[NAMEDATALEN];
	SockAddr	client_addr;
	TimestampTz state_start;	/* 0: none */
	TimestampTz xact_start;		/* 0: in no transaction */
	char	   *query;			/* pgstat_track_activity_query_size bytes */
} WscStatusText;

/* The server's array of status entries. */
typedef struct WscStatusArray
{
	PgBackendStatus *entries;	/* NULL: cannot be read */
	int			num_entries;
	const char *problem;		/* why not, or NULL */
} WscStatusArray;

/* Slots of the process array, prepared transactions left out. */
static inline int
WscNumSlots(void)
{
	return (int) ProcGlobal->allProcCount;
}

static inline PGPROC *
WscSlot(int slot)
{
	return &ProcGlobal->allProcs[slot];
}

/* From this slot on: auxiliary processes, which are on no free list. */
static inline int
WscFirstAuxiliarySlot(void)
{
	return MaxBackends;
}

/* Process that sits in the slot; 0: none. */
static inline int
WscSlotPid(const PGPROC *proc)
{
	return *(volatile const int *) &proc->procLatch.owner_pid;
}

static inline uint32
WscSlotWaitEvent(const PGPROC *proc)
{
	return *(volatile const uint32 *) &proc->wait_event_info;
}

/*
 * Is the slot for client backends?  For slots without a status entry.  The
 * compiler must not take what it finds there for a bool that cannot change.
 */
static inline bool
WscSlotIsClient(const PGPROC *proc)
{
#if PG_VERSION_NUM >= 190000
	return proc->backendType == B_BACKEND;
#elif PG_VERSION_NUM >= 180000
	return *(volatile const uint8 *) &proc->isRegularBackend != 0;
#else
	return *(volatile const uint8 *) &proc->isBackgroundWorker == 0;
#endif
}

/* Start of a wait for a heavyweight lock; 0: none, or not yet known. */
static inline TimestampTz
WscSlotWaitStart(PGPROC *proc)
{
#if PG_VERSION_NUM >= 140000
	return (TimestampTz) pg_atomic_read_u64(&proc->waitStart);
#else
	return 0;
#endif
}

/* Of the last wait for a heavyweight lock; 14 gave it a type of its own. */
typedef enum WscLockStatus
{
	WSC_LOCK_STATUS_OK,			/* the lock was granted, or none waited for */
	WSC_LOCK_STATUS_WAITING,
	WSC_LOCK_STATUS_ERROR		/* given up */
} WscLockStatus;

static inline WscLockStatus
WscSlotLockStatus(const PGPROC *proc)
{
	int			status = (int) *(volatile const uint32 *) &proc->waitStatus;

#if PG_VERSION_NUM >= 140000
	if (status == PROC_WAIT_STATUS_OK)
		return WSC_LOCK_STATUS_OK;
	if (status == PROC_WAIT_STATUS_WAITING)
		return WSC_LOCK_STATUS_WAITING;
#else
	if (status == STATUS_OK)
		return WSC_LOCK_STATUS_OK;
	if (status == STATUS_WAITING)
		return WSC_LOCK_STATUS_WAITING;
#endif
	return WSC_LOCK_STATUS_ERROR;
}

/*
 * The first slots of a free list, in the order in which new processes will
 * take them; returns how many.  The list may change meanwhile: the answer
 * is a hint, but always a set of slots.
 */
extern int	WscPeekFreeList(int list, int *slots, int max_slots);

/* Never raises an error: on failure entries is NULL and problem is set. */
extern void WscStatusAttach(WscStatusArray *array);

/*
 * Status of the process with that pid in that slot.  False if its entry
 * belongs to nobody or another one (the process starts or ends), or was
 * changing at each of a few tries.
 */
extern bool WscStatusRead(const WscStatusArray *array, int slot, int pid,
						  WscStatus *status);
extern bool WscStatusReadText(const WscStatusArray *array, int slot, int pid,
							  WscStatusText *copy);

/* As pg_stat_activity spells it; NULL: not known. */
extern const char *WscStateName(BackendState state);

#endif							/* WSC_PROCARRAY_H */
