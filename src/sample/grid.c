/*-------------------------------------------------------------------------
 *
 * grid.c
 *	  At which instants to sample, and how much time each sample stands for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sample/grid.h"

/*
 * A 64-bit mix of a counter: good enough for instants, and the same on all
 * versions (the server's generator is only exported from 15 on).
 */
uint64
WscRandom(uint64 *seed, uint64 bound)
{
	uint64		z = (*seed += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	z ^= z >> 31;
	return z % bound;
}

static int64
draw_instant(WscGrid *grid, int64 cell)
{
	int64		offset = grid->period_ns / 2;

	if (grid->jitter)
		offset = (int64) WscRandom(&grid->seed, (uint64) grid->period_ns);
	return cell * grid->period_ns + offset;
}

void
WscGridStart(WscGrid *grid, int64 period_ns, bool jitter, uint64 seed,
			 int64 now_ns)
{
	grid->period_ns = period_ns;
	grid->jitter = jitter;
	grid->seed = seed;
	grid->cell = now_ns / period_ns + 1;
	grid->next_ns = draw_instant(grid, grid->cell);
	grid->last_cell = -1;
}

bool
WscGridTake(WscGrid *grid, int64 now_ns, WscGridTick *tick)
{
	int64		now_cell = now_ns / grid->period_ns;
	int64		cells = 1;

	if (now_ns < grid->next_ns)
		return false;

	tick->missed = 0;

	/* A wake-up far too late: all cells but the last two are behind us. */
	if (grid->cell < now_cell - 1)
	{
		tick->missed += now_cell - 1 - grid->cell;
		grid->cell = now_cell - 1;
		grid->next_ns = draw_instant(grid, grid->cell);
	}

	/*
	 * The tick belongs to the newest instant that has passed; at most the
	 * next cell's can be newer.
	 */
	for (;;)
	{
		tick->cell = grid->cell;
		tick->lateness_ns = now_ns - grid->next_ns;
		grid->cell++;
		grid->next_ns = draw_instant(grid, grid->cell);
		if (now_ns < grid->next_ns)
			break;
		tick->missed++;
	}

	if (grid->last_cell >= 0)
		cells = Min(tick->cell - grid->last_cell, WSC_MAX_WEIGHT_CELLS);
	grid->last_cell = tick->cell;
	tick->weight_ns = cells * grid->period_ns;
	return true;
}
