/*-------------------------------------------------------------------------
 *
 * buffers.c
 *	  Who waits for the content of which buffer, 13 to 19.
 *
 * Per buffer:
 *
 *	1. Load the head of the list of waiters; none: done.
 *	2. Copy the tag.
 *	3. Follow the links, at most as many as there are slots.  A link that is
 *	   no slot, or a slot whose link back is not where we came from, ends the
 *	   walk: the list has changed, and what follows may be another one.
 *	   A process counts if its wait event still says buffer content.
 *	4. Copy the tag again.  Another one: all that belonged to another block.
 *
 * The processes on a list are woken one by one, so a walk may find one that
 * has been woken but not yet been given a CPU; its event says that it waits,
 * and so do all views.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/buffers.h"
#include "port/procarray.h"
#include "port/wait_events.h"

static void
copy_tag(int buffer, WscBlock *block)
{
	volatile BufferDesc *desc = GetBufferDescriptor((uint32) buffer);

#if PG_VERSION_NUM >= 160000
	block->reltablespace = desc->tag.spcOid;
	block->datid = desc->tag.dbOid;
	block->relfilenode = desc->tag.relNumber;
#else
	block->reltablespace = desc->tag.rnode.spcNode;
	block->datid = desc->tag.rnode.dbNode;
	block->relfilenode = desc->tag.rnode.relNode;
#endif
	block->relforknumber = desc->tag.forkNum;
	block->relblocknumber = desc->tag.blockNum;
}

static void
count_waiter(const PGPROC *proc, WscBlockWait *wait)
{
	uint32		event = WscSlotWaitEvent(proc);

	if (!WscWaitIsBufferContent(event))
		return;
	wait->waiters++;
#if PG_VERSION_NUM >= 190000
	switch (WscWaitForBufferLock(event))
	{
		case WSC_BUFFER_SHARED:
			wait->shared++;
			break;
		case WSC_BUFFER_EXCLUSIVE:
			wait->exclusive++;
			break;
		default:
			break;
	}
#else
	switch (*(volatile const uint8 *) &proc->lwWaitMode)
	{
		case LW_SHARED:
			wait->shared++;
			break;
		case LW_EXCLUSIVE:
			wait->exclusive++;
			break;
	}
#endif
}

bool
WscBufferRead(int buffer, WscBlockWait *wait)
{
	int			slot = WscBufferFirstWaiter(buffer);	/* 1 */
	int			previous = WSC_LIST_END;
	WscBlock	after;

	if (slot == WSC_LIST_END)
		return false;
	memset(wait, 0, sizeof(*wait));
	pg_read_barrier();			/* the head before the tag */
	copy_tag(buffer, &wait->block); /* 2 */

	for (int steps = WscNumSlots(); steps > 0; steps--) /* 3 */
	{
		volatile PGPROC *proc;

		if (slot < 0 || slot >= WscNumSlots())
			break;
		proc = WscSlot(slot);
		if (proc->lwWaitLink.prev != previous)
			break;
		count_waiter((const PGPROC *) WscSlot(slot), wait);
		previous = slot;
		slot = proc->lwWaitLink.next;
	}

	pg_read_barrier();			/* the waiters before the second look */
	copy_tag(buffer, &after);	/* 4 */
	return wait->waiters > 0 &&
		memcmp(&after, &wait->block, sizeof(after)) == 0;
}
