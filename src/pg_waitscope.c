/*-------------------------------------------------------------------------
 *
 * pg_waitscope.c
 *	  Entry point of the library: settings, shared memory, workers.
 *
 * Without preloading this does nothing at all: the functions that need
 * shared memory raise the error, so that CREATE EXTENSION and restoring a
 * dump work everywhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "guc.h"
#include "keeper.h"
#include "lock_api.h"
#include "port/compat.h"
#include "sampler.h"
#include "shmem.h"
#include "teacher.h"

WSC_MODULE_MAGIC("pg_waitscope", WSC_VERSION);

extern PGDLLEXPORT void _PG_init(void);

/*
 * Two copies of the library in one process (the same file installed under
 * two paths) would each believe to own the shared memory.  The first to load
 * leaves a mark that all later processes inherit or set anew.
 */
static void
refuse_second_copy(void)
{
	void	  **mark = find_rendezvous_variable("pg_waitscope");

	if (*mark != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another copy of pg_waitscope is already loaded"),
				 errhint("Use one path for the library in "
						 "\"shared_preload_libraries\" and in SQL.")));
	*mark = (void *) _PG_init;
}

void
_PG_init(void)
{
	refuse_second_copy();

	if (!process_shared_preload_libraries_in_progress)
		return;

	WscDefineSettings();
	if (wsc_track_queries)
		WscEnableQueryId();
	WscShmemInit();
	WscPublishLockApi();
	WscTeacherInit();
	if (!IsBinaryUpgrade)
	{
		WscSamplerRegister();
		WscKeeperRegister();
	}
}
