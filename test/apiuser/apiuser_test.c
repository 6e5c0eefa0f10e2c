/*-------------------------------------------------------------------------
 *
 * apiuser_test.c
 *	  What t/140_lock_api.pl needs beyond the example.
 *
 * No example: here a lock is held for long, and errors are raised meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "apiuser.h"

/* A holder whom nobody lets go gives up. */
#define APIUSER_MAX_NAPS 120000

PG_FUNCTION_INFO_V1(apiuser_hold);
PG_FUNCTION_INFO_V1(apiuser_let_go);
PG_FUNCTION_INFO_V1(apiuser_try);
PG_FUNCTION_INFO_V1(apiuser_held);
PG_FUNCTION_INFO_V1(apiuser_new_locks);
PG_FUNCTION_INFO_V1(apiuser_nest);
PG_FUNCTION_INFO_V1(apiuser_prefer_writers);
PG_FUNCTION_INFO_V1(apiuser_pairs);

static WscLockMode
mode_argument(const text *mode)
{
	return strcmp(text_to_cstring(mode), "shared") == 0 ?
		WSC_LOCK_SHARED : WSC_LOCK_EXCLUSIVE;
}

Datum
apiuser_hold(PG_FUNCTION_ARGS)
{
	ApiUserMap *map = ApiUserAttach();
	WscLockMode mode = mode_argument(PG_GETARG_TEXT_PP(0));
	const char *ending = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int			naps = 0;

	pg_atomic_write_u32(&map->let_go, 0);
	WscEitherLockAcquire(&map->lock, apiuser_api, mode);
	while (pg_atomic_read_u32(&map->let_go) == 0 && naps++ < APIUSER_MAX_NAPS)
		pg_usleep(1000L);
	if (strcmp(ending, "error") == 0)
		elog(ERROR, "error while the lock is held");
	WscEitherLockRelease(&map->lock, apiuser_api);
	PG_RETURN_VOID();
}

Datum
apiuser_let_go(PG_FUNCTION_ARGS)
{
	pg_atomic_write_u32(&ApiUserAttach()->let_go, 1);
	PG_RETURN_VOID();
}

Datum
apiuser_try(PG_FUNCTION_ARGS)
{
	ApiUserMap *map = ApiUserAttach();
	bool		got;

	got = WscEitherLockTryAcquire(&map->lock, apiuser_api,
								  mode_argument(PG_GETARG_TEXT_PP(0)));
	if (got)
		WscEitherLockRelease(&map->lock, apiuser_api);
	PG_RETURN_BOOL(got);
}

/* Also false if interrupts are still held off. */
Datum
apiuser_held(PG_FUNCTION_ARGS)
{
	ApiUserMap *map = ApiUserAttach();

	PG_RETURN_BOOL(WscEitherLockHeldByMe(&map->lock, apiuser_api) ||
				   InterruptHoldoffCount != 0);
}

Datum
apiuser_new_locks(PG_FUNCTION_ARGS)
{
	ApiUserMap *map = ApiUserAttach();
	int			n = Min(PG_GETARG_INT32(0), APIUSER_LOCKS);
	int			made = 0;

	for (int i = 0; i < n; i++)
	{
		char		name[NAMEDATALEN];

		snprintf(name, sizeof(name), "apiuser_%d", i);
		if (apiuser_api->init(&map->more[i], name))
			made++;
	}
	PG_RETURN_INT32(made);
}

Datum
apiuser_nest(PG_FUNCTION_ARGS)
{
	ApiUserMap *map = ApiUserAttach();
	int			n = Min(PG_GETARG_INT32(0), APIUSER_LOCKS);

	for (int i = 0; i < n; i++)
		apiuser_api->acquire(&map->more[i], WSC_LOCK_SHARED);
	for (int i = 0; i < n; i++)
		apiuser_api->release(&map->more[i]);
	PG_RETURN_VOID();
}

/* The lock is ours, and nobody is using it. */
Datum
apiuser_prefer_writers(PG_FUNCTION_ARGS)
{
	apiuser_api->prefer_writers(&ApiUserAttach()->lock.lock);
	PG_RETURN_VOID();
}

/* For callgrind. */
Datum
apiuser_pairs(PG_FUNCTION_ARGS)
{
	ApiUserMap *map = ApiUserAttach();
	WscLockMode mode = mode_argument(PG_GETARG_TEXT_PP(0));
	int			n = PG_GETARG_INT32(1);

	for (int i = 0; i < n; i++)
	{
		WscEitherLockAcquire(&map->lock, apiuser_api, mode);
		WscEitherLockRelease(&map->lock, apiuser_api);
	}
	PG_RETURN_VOID();
}
