/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  All settings.
 *
 * Sizes of shared memory are fixed at server start, behaviour changes on
 * reload.  Without preloading none of them is defined: a setting of that
 * first kind cannot be added to a running server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "guc.h"
#include "port/compat.h"
#include "store/profile.h"

bool		wsc_sampling = true;
double		wsc_sample_period = 10.0;
bool		wsc_jitter = true;
int			wsc_history_period = 100;
int			wsc_history_size = 16 * 1024;
int			wsc_profile_max = 5000;
int			wsc_profile_by = 0;
bool		wsc_track_queries = true;
bool		wsc_track_idle = false;
bool		wsc_lwlock_instances = true;
bool		wsc_hot_blocks = true;
bool		wsc_track_blockers = true;
double		wsc_hot_block_cpu_pct = 1.0;

static char *profile_by_string;

static const struct
{
	const char *word;
	int			bit;
}			profile_words[] =
{
	{"backend_type", WSC_BY_BACKEND_TYPE},
	{"database", WSC_BY_DATABASE},
	{"user", WSC_BY_USER},
	{"query", WSC_BY_QUERY},
	{"pid", WSC_BY_PID},
};

/* Bit of a dimension, 0 if there is none of that name. */
static int
find_dimension(const char *word)
{
	for (size_t i = 0; i < lengthof(profile_words); i++)
		if (strcmp(word, profile_words[i].word) == 0)
			return profile_words[i].bit;
	return 0;
}

static bool
check_profile_by(char **newval, void **extra, GucSource source)
{
	char	   *copy = pstrdup(*newval);
	List	   *words;
	ListCell   *lc;
	int			bits = 0;

	if (!SplitIdentifierString(copy, ',', &words))
	{
		GUC_check_errdetail("List syntax is invalid.");
		return false;
	}
	foreach(lc, words)
	{
		const char *word = (const char *) lfirst(lc);
		int			bit = find_dimension(word);

		if (bit == 0)
		{
			GUC_check_errdetail("Unrecognized dimension: \"%s\".", word);
			GUC_check_errhint("Known dimensions are backend_type, database, "
							  "user, query, pid.");
			return false;
		}
		bits |= bit;
	}
	list_free(words);
	pfree(copy);

	*extra = guc_malloc(LOG, sizeof(int));
	if (*extra == NULL)
		return false;
	*(int *) *extra = bits;
	return true;
}

static void
assign_profile_by(const char *newval, void *extra)
{
	wsc_profile_by = *(int *) extra;
}

/* The settings that size shared memory, or are read only at start. */
static void
define_start_settings(void)
{
	/*
	 * A megabyte is some 20 s of history on a busy server; the upper bound
	 * keeps every position and size far from the limits of 64 bits while the
	 * total is checked against the machine's memory anyway.
	 */
	DefineCustomIntVariable("pg_waitscope.history_size",
							"Sets the size of the ring of recent samples.",
							NULL,
							&wsc_history_size,
							16 * 1024,
							1024,
							16 * 1024 * 1024,
							PGC_POSTMASTER,
							GUC_UNIT_KB,
							NULL,
							NULL,
							NULL);

	/*
	 * Below 100 entries a handful of queries would evict each other all the
	 * time; a million entries take about 130 MB.
	 */
	DefineCustomIntVariable("pg_waitscope.profile_max",
							"Sets the maximum number of entries of "
							"the profile.",
							NULL,
							&wsc_profile_max,
							5000,
							100,
							1000000,
							PGC_POSTMASTER,
							0,
							NULL,
							NULL,
							NULL);

	DefineCustomStringVariable("pg_waitscope.profile_by",
							   "Sets the dimensions of the profile "
							   "besides the wait event.",
							   "List of: backend_type, database, user, "
							   "query, pid.",
							   &profile_by_string,
							   "backend_type, database, user, query",
							   PGC_POSTMASTER,
							   GUC_LIST_INPUT,
							   check_profile_by,
							   assign_profile_by,
							   NULL);

	DefineCustomBoolVariable("pg_waitscope.track_queries",
							 "Sets whether the server is asked to compute "
							 "query identifiers.",
							 "Has no effect if compute_query_id is off, or "
							 "before PostgreSQL 14.",
							 &wsc_track_queries,
							 true,
							 PGC_POSTMASTER,
							 0,
							 NULL,
							 NULL,
							 NULL);
}

/* The settings that a reload changes. */
static void
define_reload_settings(void)
{
	DefineCustomBoolVariable("pg_waitscope.sampling",
							 "Sets whether samples are taken.",
							 NULL,
							 &wsc_sampling,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);

	/*
	 * Below 0.1 ms a wake-up costs more than the period; above 10 s too few
	 * samples would fall into the windows of the summary.
	 */
	DefineCustomRealVariable("pg_waitscope.sample_period",
							 "Sets the time between two samples.",
							 NULL,
							 &wsc_sample_period,
							 10.0,
							 0.1,
							 10000.0,
							 PGC_SIGHUP,
							 GUC_UNIT_MS,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomBoolVariable("pg_waitscope.jitter",
							 "Sets whether the instant of each sample is "
							 "random within its period.",
							 "Off is for tests: periodic samples are wrong "
							 "for anything in step with them.",
							 &wsc_jitter,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);

	/* The upper bound is that of sample_period. */
	DefineCustomIntVariable("pg_waitscope.history_period",
							"Sets the time between two samples kept in "
							"the history.",
							"A value below sample_period keeps every sample.",
							&wsc_history_period,
							100,
							1,
							10000,
							PGC_SIGHUP,
							GUC_UNIT_MS,
							NULL,
							NULL,
							NULL);

	DefineCustomBoolVariable("pg_waitscope.track_idle",
							 "Sets whether the history also keeps idle "
							 "processes.",
							 NULL,
							 &wsc_track_idle,
							 false,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);
}

/* What is looked at besides the process array, as a reload changes it. */
static void
define_detail_settings(void)
{
	DefineCustomBoolVariable("pg_waitscope.lwlock_instances",
							 "Sets whether waits are counted per single "
							 "lock of the main array of LWLocks.",
							 NULL,
							 &wsc_lwlock_instances,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomBoolVariable("pg_waitscope.track_blockers",
							 "Sets whether it is looked up who keeps "
							 "processes waiting for heavyweight locks.",
							 NULL,
							 &wsc_track_blockers,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomBoolVariable("pg_waitscope.hot_blocks",
							 "Sets whether the blocks are looked for that "
							 "processes wait for.",
							 NULL,
							 &wsc_hot_blocks,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);

	/*
	 * A look costs up to a millisecond: at the lower bound there is one in 10
	 * s, at the upper one they follow each other without a pause.
	 */
	DefineCustomRealVariable("pg_waitscope.hot_block_cpu_pct",
							 "Sets how much of a CPU looking for blocks may "
							 "take, in percent.",
							 NULL,
							 &wsc_hot_block_cpu_pct,
							 1.0,
							 0.01,
							 100.0,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);
}

void
WscDefineSettings(void)
{
	define_start_settings();
	define_reload_settings();
	define_detail_settings();
	MarkGUCPrefixReserved("pg_waitscope");
}
