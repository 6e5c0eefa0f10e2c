/*-------------------------------------------------------------------------
 *
 * buffer_scan.c
 *	  Which blocks do processes wait for that wait for buffer content?
 *
 * A waiting process does not say which buffer it waits for; the buffer says
 * who waits.  So the headers of all buffers are to be looked at, some 2 ns
 * each: too many at once where shared_buffers is large.  A look goes
 *
 *	1. through the process array: how many wait?  None: done.
 *	2. through the buffers that had waiters not long ago,
 *	3. through the others in slices, from where the last look has stopped,
 *	   until as many waiters are found as there are, all buffers are looked
 *	   at, or the time is up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sample/buffer_scan.h"
#include "port/procarray.h"
#include "port/timer.h"
#include "port/wait_events.h"

/* Buffers looked at first, and between two looks at the clock. */
#define RECENT_BUFFERS 64
#define SLICE_BUFFERS 4096

struct WscBufferScanner
{
	int			recent[RECENT_BUFFERS]; /* -1: none */
	int			next_recent;	/* the one to be replaced next */
	int			next_buffer;	/* where the slices go on */
	int			max_waits;
	WscBlockWait *waits;
};

/* Each block found has a waiter, so there are no more than processes. */
WscBufferScanner *
WscBufferScannerCreate(void)
{
	WscBufferScanner *scanner = palloc0(sizeof(WscBufferScanner));

	for (int i = 0; i < RECENT_BUFFERS; i++)
		scanner->recent[i] = -1;
	scanner->max_waits = WscNumSlots();
	scanner->waits = palloc(sizeof(WscBlockWait) * (Size) scanner->max_waits);
	return scanner;
}

static int
count_waiting(void)
{
	int			waiting = 0;

	for (int slot = 0; slot < WscNumSlots(); slot++)
	{
		const PGPROC *proc = WscSlot(slot);

		if (WscSlotPid(proc) != 0 &&
			WscWaitIsBufferContent(WscSlotWaitEvent(proc)))
			waiting++;
	}
	return waiting;
}

static bool
is_recent(const WscBufferScanner *scanner, int buffer)
{
	for (int i = 0; i < RECENT_BUFFERS; i++)
		if (scanner->recent[i] == buffer)
			return true;
	return false;
}

/* Adds what the buffer has to the look; false: nothing, or nothing new. */
static bool
take_buffer(const WscBufferScanner *scanner, int buffer, WscBufferLook *look)
{
	WscBlockWait *wait = &look->waits[look->n];

	if (look->n >= scanner->max_waits || !WscBufferRead(buffer, wait))
		return false;
	for (int i = 0; i < look->n; i++)
		if (memcmp(&look->waits[i].block, &wait->block,
				   sizeof(WscBlock)) == 0)
			return false;
	look->found += wait->waiters;
	look->n++;
	return true;
}

static void
scan_slice(WscBufferScanner *scanner, int count, WscBufferLook *look)
{
	while (count-- > 0)
	{
		int			buffer = scanner->next_buffer;

		if (++scanner->next_buffer == WscNumBuffers())
			scanner->next_buffer = 0;
		if (WscBufferFirstWaiter(buffer) == WSC_LIST_END ||
			!take_buffer(scanner, buffer, look) ||
			is_recent(scanner, buffer))
			continue;
		scanner->recent[scanner->next_recent] = buffer;
		scanner->next_recent = (scanner->next_recent + 1) % RECENT_BUFFERS;
	}
}

void
WscBufferScan(WscBufferScanner *scanner, int64 limit_ns, WscBufferLook *look)
{
	int64		end_ns = WscTimerNow() + limit_ns;
	int			left = WscNumBuffers();

	look->n = 0;
	look->waits = scanner->waits;
	look->found = 0;
	look->waiting = count_waiting();	/* 1 */
	if (look->waiting > 0)
	{
		for (int i = 0; i < RECENT_BUFFERS; i++)	/* 2 */
			if (scanner->recent[i] >= 0)
				(void) take_buffer(scanner, scanner->recent[i], look);
	}
	while (look->found < look->waiting && left > 0 &&	/* 3 */
		   WscTimerNow() < end_ns)
	{
		int			slice = Min(left, SLICE_BUFFERS);

		scan_slice(scanner, slice, look);
		left -= slice;
	}
	look->complete = left == 0 || look->found >= look->waiting;
}
