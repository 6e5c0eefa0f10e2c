/*-------------------------------------------------------------------------
 *
 * view_lock_bench.c
 *	  pg_waitscope_lock_bench(): compares locks on this machine.
 *
 * Reads the arguments, has the benchmark run, and makes a row of each cell:
 * medians over the rounds, and of ratios the median of the ratios within a
 * round.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "lock_bench.h"
#include "view.h"

/* Much longer, and waiters of the server's spinlocks would panic. */
#define MIN_SLICE_MS 10.0
#define MAX_SLICE_MS 60000.0

#define MAX_ROUNDS 1000
#define MAX_TURNS 100000

/* Keeps the results below 40 MB. */
#define MAX_SLICES 10000

/* Below this share of the CPUs the figures are worth a warning. */
#define QUIET_CPU_SHARE 0.8

WSC_SQL_FUNCTION(pg_waitscope_lock_bench);

/* The elements of an array argument that holds something, and no NULL. */
static Datum *
get_elements(FunctionCallInfo fcinfo, int argno, const char *name,
			 Oid type, int *n)
{
	const char *example = type == TEXTOID ? "{lwlock,fmlock}" : "{1,2}";
	ArrayType  *array;
	Datum	   *elements;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name),
				 errhint("Give an array like '%s'.", example)));
	array = PG_GETARG_ARRAYTYPE_P(argno);
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have one dimension, not %d",
						name, ARR_NDIM(array)),
				 errhint("Give an array like '%s'.", example)));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain NULL", name),
				 errhint("Give an array like '%s'.", example)));
	if (type == TEXTOID)
		deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements,
						  NULL, n);
	else
		deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT,
						  &elements, NULL, n);
	if (*n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be empty", name),
				 errhint("Give an array like '%s'.", example)));
	return elements;
}

/* "why" says where the upper end of the range comes from, or is empty. */
static int
check_range(const char *name, int value, int min, int max, const char *why)
{
	if (value < min || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of %d is outside the valid range", name, value),
				 errhint("Give %s from %d to %d%s.", name, min, max, why)));
	return value;
}

static int *
get_ints(FunctionCallInfo fcinfo, int argno, const char *name, int min,
		 int max, const char *why, int *n)
{
	Datum	   *elements = get_elements(fcinfo, argno, name, INT4OID, n);
	int		   *values = palloc(sizeof(int) * (Size) *n);

	for (int i = 0; i < *n; i++)
		values[i] = check_range(name, DatumGetInt32(elements[i]), min, max,
								why);
	return values;
}

static int
get_int(FunctionCallInfo fcinfo, int argno, const char *name, int min, int max)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name),
				 errhint("Give %s from %d to %d.", name, min, max)));
	return check_range(name, PG_GETARG_INT32(argno), min, max, "");
}

static const WscLockVariant *
find_variant(const char *name)
{
	StringInfoData known;

	for (int i = 0; i < wsc_num_lock_variants; i++)
	{
		if (strcmp(wsc_lock_variants[i].name, name) == 0)
			return &wsc_lock_variants[i];
	}
	initStringInfo(&known);
	for (int i = 0; i < wsc_num_lock_variants; i++)
		appendStringInfo(&known, "%s%s", i > 0 ? ", " : "",
						 wsc_lock_variants[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no lock variant \"%s\"", name),
			 errhint("The variants are %s.", known.data)));
}

static void
get_variants(FunctionCallInfo fcinfo, WscBenchPlan *plan)
{
	Datum	   *names = get_elements(fcinfo, 0, "variants", TEXTOID,
									 &plan->nvariants);

	plan->variants = palloc(sizeof(WscLockVariant *) *
							(Size) plan->nvariants);
	for (int i = 0; i < plan->nvariants; i++)
		plan->variants[i] = find_variant(TextDatumGetCString(names[i]));
}

/* Then no number of clients is right, and no fewer would do. */
static void
refuse_without_workers(void)
{
	if (max_worker_processes == 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("the lock benchmark needs background workers"),
				 errhint("Raise \"max_worker_processes\", which is 0, and "
						 "restart the server.")));
}

static void
get_plan(FunctionCallInfo fcinfo, WscBenchPlan *plan)
{
	double		slices;

	memset(plan, 0, sizeof(*plan));
	refuse_without_workers();
	get_variants(fcinfo, plan);
	if (!PG_ARGISNULL(1))
		plan->clients = get_ints(fcinfo, 1, "clients", 1,
								 max_worker_processes,
								 ", the setting of \"max_worker_processes\"",
								 &plan->nclients);
	plan->write_pcts = get_ints(fcinfo, 2, "write_pct", 0, 100, "",
								&plan->nwrite_pcts);
	plan->duration_ms = WscGetIntervalMs(fcinfo, 3, "duration", MIN_SLICE_MS,
										 MAX_SLICE_MS);
	plan->rounds = get_int(fcinfo, 4, "rounds", 1, MAX_ROUNDS);
	plan->hold = get_int(fcinfo, 5, "hold", 0, MAX_TURNS);
	plan->think = get_int(fcinfo, 6, "think", 0, MAX_TURNS);

	slices = (double) plan->nvariants * Max(plan->nclients, 3) *
		plan->nwrite_pcts * plan->rounds;
	if (slices > MAX_SLICES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%.0f slices are too many for the lock benchmark",
						slices),
				 errdetail("A slice is run for each variant, number of "
						   "clients, share of writes and round; %d is the "
						   "limit.", MAX_SLICES),
				 errhint("Give fewer of them.")));
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static double
median(double *values, int n)
{
	qsort(values, (size_t) n, sizeof(double), compare_doubles);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Median over the rounds of one of their fields. */
static double
median_of(const WscBenchCell *cell, int rounds, size_t field, double *values)
{
	for (int i = 0; i < rounds; i++)
		memcpy(&values[i], (const char *) &cell->rounds[i] + field,
			   sizeof(double));
	return median(values, rounds);
}

static void
put_ratio(WscRows *rows, const WscBenchCell *cell, const WscBenchCell *base,
		  int rounds, double *values)
{
	for (int i = 0; i < rounds; i++)
	{
		if (base == NULL || base->rounds[i].ops_per_sec == 0.0)
		{
			WscPutNull(rows);
			return;
		}
		values[i] = cell->rounds[i].ops_per_sec / base->rounds[i].ops_per_sec;
	}
	WscPut(rows, Float8GetDatum(median(values, rounds)));
}

static void
put_wait(WscRows *rows, double wait_ns)
{
	if (wait_ns >= 0)
		WscPut(rows, Float8GetDatum(wait_ns / 1000.0));
	else
		WscPutNull(rows);
}

static void
put_waits(WscRows *rows, const WscWaitHistogram *waits)
{
	double		p50 = WscWaitPercentile(waits, 0.5);

	put_wait(rows, p50);
	put_wait(rows, WscWaitPercentile(waits, 0.99));
	put_wait(rows, p50 < 0 ? p50 : (double) waits->max_ns);
}

static void
put_cell(WscRows *rows, const WscBenchCell *cell, const WscBenchCell *base,
		 int rounds)
{
	double	   *values = palloc(sizeof(double) * (Size) rounds);
	double		ops = median_of(cell, rounds,
								offsetof(WscBenchRound, ops_per_sec), values);

	WscPut(rows, Float8GetDatum(ops));
	WscPut(rows, Float8GetDatum(values[0]));	/* sorted by now */
	WscPut(rows, Float8GetDatum(values[rounds - 1]));
	put_ratio(rows, cell, base, rounds, values);
	WscPut(rows, Float8GetDatum(median_of(cell, rounds,
										  offsetof(WscBenchRound, cpu_ms),
										  values)));
	put_waits(rows, cell->waits);
	WscPut(rows, Float8GetDatum(median_of(cell, rounds,
										  offsetof(WscBenchRound, fairness),
										  values)));
	if (cell->variant->guards)
	{
		WscPutInt64(rows, cell->lost);
		WscPutInt64(rows, cell->torn);
	}
	else
	{
		WscPutNull(rows);
		WscPutNull(rows);
	}
	WscPutNull(rows);
	WscPut(rows, Float8GetDatum(median_of(cell, rounds,
										  offsetof(WscBenchRound, cpu_share),
										  values)));
	pfree(values);
}

static void
put_row(WscRows *rows, const WscBenchCell *cell, const WscBenchCell *base,
		int rounds)
{
	WscPutText(rows, cell->variant->name);
	WscPutInt32(rows, cell->clients);
	WscPutInt32(rows, cell->write_pct);
	if (cell->why_not == NULL)
		put_cell(rows, cell, base, rounds);
	else
	{
		for (int i = 0; i < 11; i++)
			WscPutNull(rows);
		WscPutText(rows, cell->why_not);
		WscPutNull(rows);
	}
	WscRowsEnd(rows);
}

/* The cell of core's lock among those that were run in turn. */
static const WscBenchCell *
find_base(const WscBenchCell *cells, int nvariants)
{
	for (int i = 0; i < nvariants; i++)
	{
		if (strcmp(cells[i].variant->name, "lwlock") == 0)
			return &cells[i];
	}
	return NULL;
}

/*
 * A lock that makes its waiters sleep leaves CPU time unused; hence the best
 * share that any of the locks had under the same conditions.
 */
static void
warn_if_noisy(const WscBenchCell *cells, int ncells, const WscBenchPlan *plan)
{
	double	   *values = palloc(sizeof(double) * (Size) plan->rounds);
	double		worst = 1.0;

	for (int i = 0; i < ncells; i += plan->nvariants)
	{
		double		best = -1.0;

		for (int j = i; j < i + plan->nvariants; j++)
		{
			double		share = median_of(&cells[j], plan->rounds,
										  offsetof(WscBenchRound, cpu_share),
										  values);

			if (cells[j].why_not == NULL)
				best = Max(best, share);
		}
		if (best >= 0)
			worst = Min(worst, best);
	}
	if (worst < QUIET_CPU_SHARE)
		ereport(WARNING,
				(errmsg("the workers got only %.0f percent of the CPU time "
						"that they could have used", 100 * worst),
				 errdetail("That was so with every variant under the same "
						   "conditions: other processes were running, or "
						   "waiters slept. The column \"cpu_share\" has it "
						   "for each row."),
				 errhint("Repeat it on a quiet machine.")));
}

Datum
pg_waitscope_lock_bench(PG_FUNCTION_ARGS)
{
	WscBenchPlan plan;
	WscBenchCell *cells;
	WscRows		rows;
	int			ncells;

	WscRequirePreload();
	get_plan(fcinfo, &plan);
	WscRowsBegin(&rows, fcinfo);

	cells = WscBenchRun(&plan, &ncells);
	for (int i = 0; i < ncells; i++)
		put_row(&rows, &cells[i],
				find_base(&cells[i - i % plan.nvariants], plan.nvariants),
				plan.rounds);
	warn_if_noisy(cells, ncells, &plan);
	return (Datum) 0;
}
