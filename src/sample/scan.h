/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  From the process array to samples, without taking a lock.
 *
 * A scanner belongs to one process and lives in that process's memory; any
 * backend may have one, with or without preloading.  WscScan() allocates
 * nothing, waits for nothing and raises nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_SCAN_H
#define WSC_SCAN_H

#include "sample/sample.h"

typedef struct WscScanner WscScanner;

/*
 * Which samples are returned; all processes are counted in any case, but
 * those that are left out.
 */
typedef struct WscScanOptions
{
	bool		idle;			/* idle, background idle and hidden ones, too */
	bool		self;			/* do not leave out the caller */
	int			skip_pid;		/* leave out this one, too; 0: none */
} WscScanOptions;

/* What else was seen of a process; not kept in stores. */
typedef struct WscSampleDetail
{
	int			state;			/* BackendState */
	int			changecount;	/* of its status entry */
	TimestampTz lock_wait_start;	/* 0: none, or not known */
} WscSampleDetail;

/* Allocates in the current memory context. */
extern WscScanner *WscScannerCreate(void);

/* The most samples one scan can return. */
extern int	WscScannerSlots(const WscScanner *scanner);

/*
 * Why status columns (state, database, user, query id) are missing, or NULL
 * if they are not.
 */
extern const char *WscScannerStatusProblem(const WscScanner *scanner);

/* How many ticks it may take until a new process is seen. */
extern int	WscScannerDelay(const WscScanner *scanner);

/*
 * Fills samples (room for WscScannerSlots() needed) and counts, returns the
 * number of samples.  The event ids of the samples are left at 0.
 */
extern int	WscScan(WscScanner *scanner, const WscScanOptions *options,
					WscSample *samples, uint32 counts[WSC_NUM_STATE_CLASSES]);

/*
 * By slot, for the samples of the last scan that wait for a heavyweight lock:
 * the start of that wait; 0: not known.
 */
extern const TimestampTz *WscScanStarts(const WscScanner *scanner);

/*
 * One slot of 0 .. WscScannerSlots() - 1, whatever its state class; false if
 * no process sits there, or it is left out.
 */
extern bool WscScanSlot(const WscScanner *scanner,
						const WscScanOptions *options, int slot,
						WscSample *sample, WscSampleDetail *detail);

#endif							/* WSC_SCAN_H */
