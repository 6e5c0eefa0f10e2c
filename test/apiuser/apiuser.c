/*-------------------------------------------------------------------------
 *
 * apiuser.c
 *	  A map in shared memory under a lock of pg_waitscope, or an LWLock.
 *
 * An example of how another extension uses pg_waitscope_lock.h.  It works
 * preloaded before or after pg_waitscope, or loaded later into what room the
 * server has left in shared memory; without pg_waitscope, or with one that is
 * too old, it has an LWLock of its own.
 *
 * While the map is locked nothing happens that could raise an error: compute,
 * lock, copy, unlock, then raise.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "apiuser.h"

#define APIUSER_NAME "apiuser"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(apiuser_put);
PG_FUNCTION_INFO_V1(apiuser_get);
PG_FUNCTION_INFO_V1(apiuser_lock_kind);

extern PGDLLEXPORT void _PG_init(void);

const WscLockApi *apiuser_api;

static ApiUserMap *map;
static int	wanted_version = WSC_LOCK_API_VERSION;
static shmem_startup_hook_type prev_startup_hook;

/* 19 took the name to where all processes find it. */
static int
new_tranche(void)
{
#if PG_VERSION_NUM >= 190000
	return LWLockNewTrancheId(APIUSER_NAME);
#else
	return LWLockNewTrancheId();
#endif
}

static void
name_tranche(int tranche)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, APIUSER_NAME);
#endif
}

/* The choice between the two kinds of locks is everybody's. */
static void
init_map(ApiUserMap *mem)
{
	memset(mem, 0, sizeof(ApiUserMap));
	pg_atomic_init_u32(&mem->let_go, 0);
	WscEitherLockInit(&mem->lock, apiuser_api, APIUSER_NAME, &mem->lwlock);
	if (mem->lock.lwlock != NULL)
		LWLockInitialize(&mem->lwlock, new_tranche());
	mem->ready = true;
}

/* In each process once, with AddinShmemInitLock held. */
static void
attach_map(void)
{
	ApiUserMap *mem;
	bool		found;

	apiuser_api = WscFindLockApi((uint32) wanted_version, sizeof(WscLockApi));
	mem = ShmemInitStruct(APIUSER_NAME, sizeof(ApiUserMap), &found);
	if (!found || !mem->ready)
		init_map(mem);
	if (mem->lock.lwlock != NULL)
		name_tranche(mem->lwlock.tranche);
	else if (apiuser_api == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("apiuser was replaced while the server runs"),
				 errhint("Restart the server.")));
	map = mem;
}

static void
start_shmem(void)
{
	if (prev_startup_hook)
		prev_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	attach_map();
	LWLockRelease(AddinShmemInitLock);
}

ApiUserMap *
ApiUserAttach(void)
{
	if (map == NULL)
	{
		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
		attach_map();
		LWLockRelease(AddinShmemInitLock);
	}
	return map;
}

/* 15 took requests out of _PG_init. */
#if PG_VERSION_NUM >= 150000
static shmem_request_hook_type prev_request_hook;

static void
request_shmem(void)
{
	if (prev_request_hook)
		prev_request_hook();
	RequestAddinShmemSpace(sizeof(ApiUserMap));
}
#endif

void
_PG_init(void)
{
	DefineCustomIntVariable("apiuser.api_version",
							"Sets the version of the locks that is asked for.",
							NULL,
							&wanted_version, WSC_LOCK_API_VERSION,
							0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);

	if (!process_shared_preload_libraries_in_progress)
		return;

#if PG_VERSION_NUM >= 150000
	prev_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
#else
	RequestAddinShmemSpace(sizeof(ApiUserMap));
#endif
	prev_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shmem;
}

/* The slot of a key, or the free one where it belongs; NULL: full. */
static ApiUserSlot *
find_slot(int32 key)
{
	uint32		start = (uint32) key * 2654435761U;

	for (uint32 i = 0; i < APIUSER_SLOTS; i++)
	{
		ApiUserSlot *slot = &map->slots[(start + i) % APIUSER_SLOTS];

		if (slot->key == key || slot->key == 0)
			return slot;
	}
	return NULL;
}

static int32
check_key(int32 key)
{
	if (key == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must not be 0")));
	return key;
}

Datum
apiuser_put(PG_FUNCTION_ARGS)
{
	int32		key = check_key(PG_GETARG_INT32(0));
	int64		n = PG_GETARG_INT64(1);
	ApiUserSlot *slot;

	ApiUserAttach();
	WscEitherLockAcquire(&map->lock, apiuser_api, WSC_LOCK_EXCLUSIVE);
	slot = find_slot(key);
	if (slot != NULL)
	{
		slot->key = key;
		slot->n += n;
		n = slot->n;
	}
	WscEitherLockRelease(&map->lock, apiuser_api);

	if (slot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the map is full")));
	PG_RETURN_INT64(n);
}

Datum
apiuser_get(PG_FUNCTION_ARGS)
{
	int32		key = check_key(PG_GETARG_INT32(0));
	ApiUserSlot *slot;
	bool		found;
	int64		n = 0;

	ApiUserAttach();
	WscEitherLockAcquire(&map->lock, apiuser_api, WSC_LOCK_SHARED);
	slot = find_slot(key);
	found = slot != NULL && slot->key == key;
	if (found)
		n = slot->n;
	WscEitherLockRelease(&map->lock, apiuser_api);

	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_INT64(n);
}

Datum
apiuser_lock_kind(PG_FUNCTION_ARGS)
{
	ApiUserAttach();
	PG_RETURN_TEXT_P(cstring_to_text(map->lock.lwlock == NULL ?
									 "fmlock" : "lwlock"));
}
