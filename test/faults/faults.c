/*-------------------------------------------------------------------------
 *
 * faults.c
 *	  Makes the sampler fail: an error, or death, at a chosen kind of moment.
 *
 * Preloaded after pg_waitscope.  The only code of others that the sampler
 * runs is the server's handling of settings; so the fault is armed by the
 * assign hook of a setting of ours, in the sampler, when it reloads.  The
 * fault "reload" is raised there and then.  The others come from a timer of
 * CPU time, which cannot fire in a process that sleeps, once it finds the
 * process in the code of pg_waitscope: in the middle of a scan or of a
 * change of a store, wherever that is.  No code of the product raises errors
 * there; that is the point.
 *
 * A sampler that is started again has the setting already, and is not told
 * of it before the next reload: each fault happens once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "fmgr.h"
#include "postmaster/bgworker.h"

#include "port/compat.h"

/* Between two looks at where the process is, in CPU time. */
#define LOOK_US 500

/* The asking function, the handler, the return from it, who was interrupted. */
#define INTERRUPTED_FRAME 3

typedef enum Fault
{
	FAULT_NONE,
	FAULT_RELOAD,				/* error in the reload of settings */
	FAULT_TICK,					/* error in a tick */
	FAULT_KILL					/* SIGKILL in a tick */
} Fault;

static const struct config_enum_entry faults[] =
{
	{"none", FAULT_NONE, false},
	{"reload", FAULT_RELOAD, false},
	{"tick", FAULT_TICK, false},
	{"kill", FAULT_KILL, false},
	{NULL, 0, false}
};

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static int	wanted = FAULT_NONE;
static volatile sig_atomic_t armed;

static void
set_timer(int us)
{
	struct itimerval timer = {{0, us}, {0, us}};

	setitimer(ITIMER_PROF, &timer, NULL);
}

static pg_noinline bool
is_in_pg_waitscope(void)
{
	void	   *frames[INTERRUPTED_FRAME + 1];
	Dl_info		info;

	if (backtrace(frames, INTERRUPTED_FRAME + 1) <= INTERRUPTED_FRAME ||
		dladdr(frames[INTERRUPTED_FRAME], &info) == 0)
		return false;
	return strstr(info.dli_fname, "/pg_waitscope.so") != NULL;
}

static void
fail_in_tick(int signo)
{
	if (!is_in_pg_waitscope())
		return;
	set_timer(0);
	if (armed == FAULT_KILL)
		kill(getpid(), SIGKILL);
	elog(ERROR, "fault in a tick");
}

static void
arm_fault(int fault, void *extra)
{
	struct sigaction action;
	void	   *frame;

	if (MyBgworkerEntry == NULL ||
		strcmp(MyBgworkerEntry->bgw_type, "pg_waitscope sampler") != 0)
		return;
	if (fault == FAULT_RELOAD)
		elog(ERROR, "fault in a reload");
	if (fault == FAULT_NONE)
		return;
	armed = fault;
	(void) backtrace(&frame, 1);	/* what it loads the first time */

	/* By hand, since newer servers put a function of theirs before it. */
	memset(&action, 0, sizeof(action));
	action.sa_handler = fail_in_tick;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &action, NULL);
	set_timer(LOOK_US);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("wsc_test_faults.raise",
							 "Sets the fault that the sampler is to have.",
							 NULL, &wanted, FAULT_NONE, faults, PGC_SIGHUP,
							 0, NULL, arm_fault, NULL);
}
