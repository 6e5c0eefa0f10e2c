/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  Background worker that samples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_SAMPLER_H
#define WSC_SAMPLER_H

#include "sample/sample.h"

/* What the sampler says about itself.  Its own process writes, any reads. */
typedef struct WscSamplerStatus
{
	int32		pid;			/* 0: none runs */
	TimestampTz started_at;		/* start of the present or last process */
	int64		starts;			/* processes so far; restarts are one less */
	bool		sampling;		/* the setting, as the sampler sees it */
	int64		period_ns;
	int64		ticks;
	int64		ticks_missed;
	int64		max_lateness_ns;
	int64		covered_ns;
	int64		cpu_ns;			/* all processes so far */
	int64		class_samples[WSC_NUM_STATE_CLASSES];
	TimestampTz last_tick_at;	/* 0: none yet */
	int32		scan_delay_ticks;
	char		status_problem[128];	/* "": status columns are there */
	char		walk_problem[128];	/* "": single LWLocks are told apart */
} WscSamplerStatus;

extern Size WscSamplerSize(void);
extern void WscSamplerAttach(void *mem, bool found);

/* False if the status could not be read consistently in a few tries. */
extern bool WscSamplerRead(WscSamplerStatus *status);

extern void WscSamplerRegister(void);

#endif							/* WSC_SAMPLER_H */
