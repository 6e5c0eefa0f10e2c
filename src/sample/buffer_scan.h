/*-------------------------------------------------------------------------
 *
 * buffer_scan.h
 *	  Which blocks do processes wait for that wait for buffer content?
 *
 * A scanner belongs to one process and lives in that process's memory.  A
 * look takes no lock, allocates nothing and raises nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_BUFFER_SCAN_H
#define WSC_BUFFER_SCAN_H

#include "port/buffers.h"

typedef struct WscBufferScanner WscBufferScanner;

/* What one look found. */
typedef struct WscBufferLook
{
	int			waiting;		/* processes that waited as it began */
	int			found;			/* waiters of the blocks found */
	bool		complete;		/* all were found, or all buffers looked at */
	int			n;
	WscBlockWait *waits;		/* one for each block; n of them */
} WscBufferLook;

/* Allocates in the current memory context. */
extern WscBufferScanner *WscBufferScannerCreate(void);

/* Stops soon after limit_ns; the next look goes on from there. */
extern void WscBufferScan(WscBufferScanner *scanner, int64 limit_ns,
						  WscBufferLook *look);

#endif							/* WSC_BUFFER_SCAN_H */
