/*-------------------------------------------------------------------------
 *
 * view_process.c
 *	  All that is known of one process, for the views that show processes.
 *
 * The calling backend reads the process array itself, which works without
 * preloading.  The wait and the status of a process belong together as far
 * as the status entry did not change from before the wait was read until
 * after everything was copied; this is tried a few times.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "postmaster/bgworker.h"

#include "view_process.h"
#include "store/eventdict.h"

#define PROCESS_TRIES 4

void
WscProcessReaderBegin(WscProcessReader *reader)
{
	reader->scanner = WscScannerCreate();
	WscStatusAttach(&reader->array);
}

void
WscProcessInit(WscProcess *process)
{
	memset(process, 0, sizeof(*process));
	process->text.query = palloc((Size) pgstat_track_activity_query_size);
}

bool
WscProcessRead(const WscProcessReader *reader, int slot, WscProcess *process)
{
	WscScanOptions options = {.idle = true,.self = true};

	for (int i = 0; i < PROCESS_TRIES; i++)
	{
		if (!WscScanSlot(reader->scanner, &options, slot, &process->sample,
						 &process->detail))
			return false;
		process->have_text =
			(process->sample.flags & WSC_SAMPLE_NO_STATUS) == 0 &&
			WscStatusReadText(&reader->array, slot, process->sample.pid,
							  &process->text);
		if (process->have_text &&
			process->text.changecount == process->detail.changecount)
			break;
	}
	return true;
}

const char *
WscProcessType(const WscProcess *process)
{
	if (process->sample.backend_type == B_BG_WORKER)
		return GetBackgroundWorkerTypeByPid(process->sample.pid);
	return WscBackendTypeName(process->sample.backend_type);
}

void
WscPutWaitEvent(WscRows *rows, const WscSample *sample)
{
	WscEventName name;

	if (sample->wait_event_info == 0)
	{
		WscPutNull(rows);
		WscPutNull(rows);
		return;
	}
	WscEventCodeName(sample->wait_event_info, &name);
	WscPutText(rows, name.type);
	WscPutText(rows, name.name);
}

/* Texts are never empty: an empty one says as little as NULL. */
static void
put_text_or_null(WscRows *rows, const char *value)
{
	WscPutText(rows, value != NULL && value[0] != '\0' ? value : NULL);
}

void
WscPutQuery(WscRows *rows, const WscProcess *process)
{
	put_text_or_null(rows, process->have_text ?
					 pgstat_clip_activity(process->text.query) : NULL);
}

void
WscPutApplicationName(WscRows *rows, const WscProcess *process)
{
	put_text_or_null(rows, process->have_text ?
					 process->text.application_name : NULL);
}
