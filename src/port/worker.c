/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  Background workers that run a function of this library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <time.h>

#include "port/worker.h"

/*
 * The worker must load this very file: under another name it would be a
 * second copy, which is refused.
 */
static void
set_library_name(BackgroundWorker *worker)
{
	Dl_info		info;

	strlcpy(worker->bgw_library_name, "pg_waitscope",
			sizeof(worker->bgw_library_name));
	if (dladdr((void *) WscWorkerInit, &info) != 0 &&
		strlen(info.dli_fname) < sizeof(worker->bgw_library_name))
		strlcpy(worker->bgw_library_name, info.dli_fname,
				sizeof(worker->bgw_library_name));
}

void
WscWorkerInit(BackgroundWorker *worker, const char *function,
			  const char *name)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	set_library_name(worker);
	strlcpy(worker->bgw_function_name, function,
			sizeof(worker->bgw_function_name));
	strlcpy(worker->bgw_name, name, sizeof(worker->bgw_name));
	strlcpy(worker->bgw_type, name, sizeof(worker->bgw_type));
}

int64
WscCpuTime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64) ts.tv_sec * INT64CONST(1000000000) + ts.tv_nsec;
}
