/*-------------------------------------------------------------------------
 *
 * wait_histogram.h
 *	  Lengths of waits in classes that are narrow everywhere.
 *
 * Log-linear: eight classes for each power of two, so a length read from the
 * histogram is within 7 % of the true one, from 8 ns to 18 minutes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_WAIT_HISTOGRAM_H
#define WSC_WAIT_HISTOGRAM_H

#define WSC_WAIT_TOP_BIT 39
#define WSC_WAIT_CLASSES ((WSC_WAIT_TOP_BIT - 1) * 8)

typedef struct WscWaitHistogram
{
	uint64		max_ns;
	uint64		counts[WSC_WAIT_CLASSES];
} WscWaitHistogram;

extern void WscWaitAdd(WscWaitHistogram *histogram, uint64 wait_ns);

/* Adds all of one to the other. */
extern void WscWaitMerge(WscWaitHistogram *into,
						 const WscWaitHistogram *from);

/* The length that this share of the waits does not exceed; -1: no waits. */
extern double WscWaitPercentile(const WscWaitHistogram *histogram,
								double share);

#endif							/* WSC_WAIT_HISTOGRAM_H */
