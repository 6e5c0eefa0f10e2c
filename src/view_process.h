/*-------------------------------------------------------------------------
 *
 * view_process.h
 *	  All that is known of one process, for the views that show processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_VIEW_PROCESS_H
#define WSC_VIEW_PROCESS_H

#include "port/procarray.h"
#include "sample/scan.h"
#include "view.h"

typedef struct WscProcess
{
	WscSample	sample;
	WscSampleDetail detail;
	bool		have_text;
	WscStatusText text;
} WscProcess;

typedef struct WscProcessReader
{
	WscScanner *scanner;
	WscStatusArray array;
} WscProcessReader;

/*
 * Allocates in the current memory context: the reader, and room for the
 * texts of a process.
 */
extern void WscProcessReaderBegin(WscProcessReader *reader);
extern void WscProcessInit(WscProcess *process);

/* False if there is no process in that slot. */
extern bool WscProcessRead(const WscProcessReader *reader, int slot,
						   WscProcess *process);

/* As in pg_stat_activity; NULL: not known. */
extern const char *WscProcessType(const WscProcess *process);

/* Type and name of the wait event: two columns. */
extern void WscPutWaitEvent(WscRows *rows, const WscSample *sample);

/* The last statement, cut between characters; NULL if there was none. */
extern void WscPutQuery(WscRows *rows, const WscProcess *process);

/* NULL also if there are no texts. */
extern void WscPutApplicationName(WscRows *rows, const WscProcess *process);

#endif							/* WSC_VIEW_PROCESS_H */
