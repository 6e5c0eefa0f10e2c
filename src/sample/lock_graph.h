/*-------------------------------------------------------------------------
 *
 * lock_graph.h
 *	  Who waits for whom, as trees: what a copy of the lock table means.
 *
 * The rules are those of pg_blocking_pids().  A process waits for each lock
 * group but its own that holds the lock in a mode which conflicts with the
 * one wanted (it is held up by that group), and for each that wants such a
 * mode and stands before it in the queue (it is queued behind it).
 *
 * A node is a process that waits, or one that others wait for and that waits
 * for nobody itself: of a lock group that is the leader.  Each node stands
 * in one place: below a holder, rather one that waits for nobody than one
 * that waits, and rather one that has waited longer; if nobody holds it in
 * such a mode, below the first in the queue that is in the way.  Trees with
 * most processes behind their root come first; below one node, what has been
 * waited for longest, in the order of each queue.
 *
 * Processes that wait for each other in a circle are marked as such.  Where
 * the places of the nodes would make a circle, the one that has waited
 * longest stands on top.
 *
 * Pure computation over arrays: no shared memory, no lock, no recursion.  It
 * takes time in proportion to the pairs of waiters of the same lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_LOCK_GRAPH_H
#define WSC_LOCK_GRAPH_H

#include "port/contended_locks.h"

typedef struct WscLockNode
{
	int			entry;			/* that waits; -1: waits for nobody */
	int			group;
	int			slot;			/* of the process, and its pid */
	int			pid;
	TransactionId prepared_xid; /* pid 0: of the prepared transaction */
	int			blocker;		/* entry in the way; -1: none */
	int			parent;			/* node above; -1: none */
	int			root;			/* node on top; itself, if it is that */
	int			depth;			/* 0: on top */
	int			blocked_count;	/* processes waiting for it, near or far */
	bool		in_cycle;		/* waits for itself by way of others */
} WscLockNode;

/* Processes that share their locks; most stand alone. */
typedef struct WscLockGroup
{
	int			leader_slot;
	int			leader_pid;
	int			first_entry;	/* linked by next_of_group */
	int			node;			/* that stands for it; -1: none */
	bool		in_cycle;
} WscLockGroup;

typedef struct WscLockGraph
{
	const WscLockTable *table;
	int			num_groups;
	int			num_nodes;
	WscLockGroup *groups;
	WscLockNode *nodes;
	int		   *order;			/* nodes, each tree from its root */
	int		   *group_of_entry;
	int		   *next_of_group;	/* per entry; -1: the last */
	int		   *seen;			/* per group: the stamp it was seen with */
	int			stamp;
} WscLockGraph;

typedef enum WscLockBlock
{
	WSC_NOT_BLOCKED,
	WSC_HELD_UP,
	WSC_QUEUED_BEHIND
} WscLockBlock;

/* Allocates in the current memory context; the table must stay. */
extern void WscLockGraphBuild(WscLockGraph *graph, const WscLockTable *table);

/* Does a waiting entry wait for another entry of the same lock? */
extern WscLockBlock WscLockBlocks(const WscLockGraph *graph, int waiter,
								  int other);

/*
 * Pids of the leaders of the groups that a waiting node waits for, each
 * group once; 0 is a prepared transaction.  Those queued behind are in the
 * order of the queue.  There must be room for num_groups in both arrays.
 */
extern void WscLockBlockers(WscLockGraph *graph, int node,
							int *held_by, int *num_held_by,
							int *queued_behind, int *num_queued_behind);

#endif							/* WSC_LOCK_GRAPH_H */
