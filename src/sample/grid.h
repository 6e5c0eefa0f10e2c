/*-------------------------------------------------------------------------
 *
 * grid.h
 *	  At which instants to sample, and how much time each sample stands for.
 *
 * Time is cut into cells of one period, numbered from the clock's origin, so
 * that nothing drifts.  Each cell has one instant, uniformly random in it
 * (or its middle when jitter is off).  The caller sleeps until next_ns and
 * then calls WscGridTake().
 *
 * Weights are whole cells: period x (cell - cell of the previous tick), at
 * most WSC_MAX_WEIGHT_CELLS.  Elapsed time would correlate with the random
 * instant and bias the estimate of a load that is in phase with the cells.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_GRID_H
#define WSC_GRID_H

/* A gap beyond this many cells is not covered by the sample after it. */
#define WSC_MAX_WEIGHT_CELLS 4

typedef struct WscGrid
{
	int64		period_ns;
	bool		jitter;
	uint64		seed;			/* state of the random generator */
	int64		cell;			/* cell of next_ns */
	int64		next_ns;		/* next instant, CLOCK_MONOTONIC */
	int64		last_cell;		/* cell of the last tick taken; -1: none */
} WscGrid;

/* What WscGridTake() found. */
typedef struct WscGridTick
{
	int64		cell;
	int64		weight_ns;
	int64		lateness_ns;	/* from the instant to now */
	int64		missed;			/* instants passed over since the last tick */
} WscGridTick;

/* Starts at now; the first instant is in the cell after it. */
extern void WscGridStart(WscGrid *grid, int64 period_ns, bool jitter,
						 uint64 seed, int64 now_ns);

/*
 * Takes the newest instant that has passed, if any, and draws the next one.
 * Older instants that passed too are missed: there is no catching up.
 */
extern bool WscGridTake(WscGrid *grid, int64 now_ns, WscGridTick *tick);

/* Uniformly random in [0, bound). */
extern uint64 WscRandom(uint64 *seed, uint64 bound);

#endif							/* WSC_GRID_H */
