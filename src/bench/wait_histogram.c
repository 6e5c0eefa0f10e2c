/*-------------------------------------------------------------------------
 *
 * wait_histogram.c
 *	  Lengths of waits in classes that are narrow everywhere.
 *
 * Lengths below 8 have a class each.  Above, the class is made of the position
 * of the highest bit and the three bits behind it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "bench/wait_histogram.h"

static int
class_of(uint64 wait_ns)
{
	int			bit;

	if (wait_ns < 8)
		return (int) wait_ns;
	bit = pg_leftmost_one_pos64(wait_ns);
	if (bit > WSC_WAIT_TOP_BIT)
		return WSC_WAIT_CLASSES - 1;
	return (bit - 2) * 8 + (int) ((wait_ns >> (bit - 3)) & 7);
}

/* The middle of a class. */
static double
length_of(int class)
{
	int			bit = class / 8 + 2;

	if (class < 8)
		return class;
	return ldexp(8 + class % 8 + 0.5, bit - 3);
}

void
WscWaitAdd(WscWaitHistogram *histogram, uint64 wait_ns)
{
	histogram->max_ns = Max(histogram->max_ns, wait_ns);
	histogram->counts[class_of(wait_ns)]++;
}

void
WscWaitMerge(WscWaitHistogram *into, const WscWaitHistogram *from)
{
	into->max_ns = Max(into->max_ns, from->max_ns);
	for (int i = 0; i < WSC_WAIT_CLASSES; i++)
		into->counts[i] += from->counts[i];
}

double
WscWaitPercentile(const WscWaitHistogram *histogram, double share)
{
	uint64		total = 0;
	uint64		sum = 0;

	for (int i = 0; i < WSC_WAIT_CLASSES; i++)
		total += histogram->counts[i];
	for (int i = 0; i < WSC_WAIT_CLASSES; i++)
	{
		sum += histogram->counts[i];
		if (total > 0 && (double) sum >= share * (double) total)
			return Min(length_of(i), (double) histogram->max_ns);
	}
	return -1.0;
}
