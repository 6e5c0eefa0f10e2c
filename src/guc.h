/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  All settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_GUC_H
#define WSC_GUC_H

extern bool wsc_sampling;
extern double wsc_sample_period;	/* ms */
extern bool wsc_jitter;
extern int	wsc_history_period; /* ms */
extern int	wsc_history_size;	/* kB */
extern int	wsc_profile_max;
extern int	wsc_profile_by;		/* WSC_BY_* */
extern bool wsc_track_queries;
extern bool wsc_track_idle;
extern bool wsc_lwlock_instances;
extern bool wsc_hot_blocks;
extern double wsc_hot_block_cpu_pct;
extern bool wsc_track_blockers;

/* Only while the library is preloaded. */
extern void WscDefineSettings(void);

#endif							/* WSC_GUC_H */
