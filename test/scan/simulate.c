/*-------------------------------------------------------------------------
 *
 * simulate.c
 *	  Samples a load of known length with the grid and a simulated clock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"

#include "port/compat.h"
#include "sample/grid.h"

#define PERIOD_NS INT64CONST(10000000)
#define DUTY 0.3

extern PGDLLEXPORT Datum wsc_test_simulate(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(wsc_test_simulate);

/* Sums over all ticks; times in ns. */
typedef struct Sums
{
	int64		ticks;
	int64		missed;
	int64		busy_ticks;
	int64		weight;
	int64		busy_weight;
	int64		max_weight;
	int64		elapsed;
	int64		busy_elapsed;
	int64		outside_cell;	/* instants not in the cell of their tick */
	int64		not_newest;		/* a newer instant had passed */
} Sums;

static double
divide(int64 part, int64 whole)
{
	return (double) part / (double) whole;
}

static bool
is_busy(int64 now_ns, double phase)
{
	double		place = (double) (now_ns % PERIOD_NS) / (double) PERIOD_NS -
	phase;

	if (place < 0)
		place += 1.0;
	return place < DUTY;
}

/* Exponentially distributed, as delays of a busy machine roughly are. */
static int64
draw_lateness(uint64 *seed, double mean_periods)
{
	double		u = (double) (WscRandom(seed, 1000000) + 1) / 1000001.0;

	return (int64) (-log(u) * mean_periods * (double) PERIOD_NS);
}

static void
add_tick(Sums *sums, const WscGridTick *tick, int64 now, int64 last_now,
		 bool busy)
{
	int64		instant = now - tick->lateness_ns;

	sums->ticks++;
	sums->missed += tick->missed;
	sums->weight += tick->weight_ns;
	sums->elapsed += now - last_now;
	sums->max_weight = Max(sums->max_weight, tick->weight_ns);
	if (busy)
	{
		sums->busy_ticks++;
		sums->busy_weight += tick->weight_ns;
		sums->busy_elapsed += now - last_now;
	}
	if (instant / PERIOD_NS != tick->cell)
		sums->outside_cell++;
}

Datum
wsc_test_simulate(PG_FUNCTION_ARGS)
{
	double		phase = PG_GETARG_FLOAT8(0);
	bool		jitter = PG_GETARG_BOOL(1);
	double		late = PG_GETARG_FLOAT8(2);
	int64		cells = PG_GETARG_INT64(3);
	int64		start = INT64CONST(123456789012345);
	int64		last_now = start;
	uint64		seed = 42;
	int64		first_cell;
	WscGrid		grid;
	Sums		sums;
	TupleDesc	desc;
	Datum		values[10];
	bool		nulls[10] = {false};

	memset(&sums, 0, sizeof(sums));
	WscGridStart(&grid, PERIOD_NS, jitter, 4711, start);
	first_cell = grid.cell;
	while (grid.cell < first_cell + cells)
	{
		int64		now = grid.next_ns + draw_lateness(&seed, late);
		WscGridTick tick;

		if (WscGridTake(&grid, grid.next_ns - 1, &tick))
			elog(ERROR, "a tick before its instant");
		if (!WscGridTake(&grid, now, &tick))
			elog(ERROR, "no tick after its instant");
		add_tick(&sums, &tick, now, last_now, is_busy(now, phase));
		if (grid.next_ns <= now)
			sums.not_newest++;
		last_now = now;
	}

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row");
	values[0] = Float8GetDatum(divide(sums.busy_weight, sums.weight));
	values[1] = Float8GetDatum(divide(sums.busy_elapsed, sums.elapsed));
	values[2] = Float8GetDatum(divide(sums.busy_ticks, sums.ticks));
	values[3] = Int64GetDatum(sums.ticks);
	values[4] = Int64GetDatum(sums.missed);
	values[5] = Int64GetDatum(grid.cell - first_cell);
	values[6] = Float8GetDatum(divide(sums.weight, PERIOD_NS));
	values[7] = Float8GetDatum(divide(sums.max_weight, PERIOD_NS));
	values[8] = Int64GetDatum(sums.outside_cell);
	values[9] = Int64GetDatum(sums.not_newest);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
