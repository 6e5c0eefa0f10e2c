/*-------------------------------------------------------------------------
 *
 * lock_graph.c
 *	  Who waits for whom, as trees: what a copy of the lock table means.
 *
 * 1. Number the lock groups.
 * 2. A node for each process that waits, then for each group that others
 *	  wait for and that has none yet; each waiting node gets its place.
 * 3. Find circles, and count who waits for each (lock_paths.c).
 * 4. Cut circles of places, and put the nodes in order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sample/lock_graph.h"
#include "sample/lock_paths.h"

static void *
allocate(int n, Size size)
{
	return palloc0((Size) (n + 1) * size);
}

WscLockBlock
WscLockBlocks(const WscLockGraph *graph, int waiter, int other)
{
	const WscLockEntry *entry = &graph->table->entries[waiter];
	const WscLockEntry *by = &graph->table->entries[other];
	LOCKMASK	conflicts =
	graph->table->locks[entry->lock].conflicts[entry->wanted];

	if (graph->group_of_entry[waiter] == graph->group_of_entry[other])
		return WSC_NOT_BLOCKED;
	if (conflicts & by->held)
		return WSC_HELD_UP;
	if (by->wanted != NoLock && by->waiter < entry->waiter &&
		(conflicts & LOCKBIT_ON(by->wanted)))
		return WSC_QUEUED_BEHIND;
	return WSC_NOT_BLOCKED;
}

/* The first time since the stamp was changed? */
static bool
see_group(WscLockGraph *graph, int group)
{
	if (graph->seen[group] == graph->stamp)
		return false;
	graph->seen[group] = graph->stamp;
	return true;
}

void
WscLockBlockers(WscLockGraph *graph, int node,
				int *held_by, int *num_held_by,
				int *queued_behind, int *num_queued_behind)
{
	const WscLockTable *table = graph->table;
	int			waiter = graph->nodes[node].entry;
	const WscContendedLock *lock = &table->locks[table->entries[waiter].lock];

	graph->stamp++;
	*num_held_by = 0;
	*num_queued_behind = 0;
	for (int i = 0; i < lock->num_entries; i++)
	{
		int			other = lock->first_entry + i;
		int			group = graph->group_of_entry[other];

		if (WscLockBlocks(graph, waiter, other) == WSC_HELD_UP &&
			see_group(graph, group))
			held_by[(*num_held_by)++] = graph->groups[group].leader_pid;
	}
	for (int i = lock->first_waiter; table->waiters[i] != waiter; i++)
	{
		int			other = table->waiters[i];
		int			group = graph->group_of_entry[other];

		if (WscLockBlocks(graph, waiter, other) == WSC_QUEUED_BEHIND &&
			see_group(graph, group))
			queued_behind[(*num_queued_behind)++] =
				graph->groups[group].leader_pid;
	}
}

/* Step 1. */
static void
number_groups(WscLockGraph *graph)
{
	const WscLockTable *table = graph->table;
	int		   *group_of_slot = allocate(table->num_slots, sizeof(int));

	for (int slot = 0; slot < table->num_slots; slot++)
		group_of_slot[slot] = -1;
	for (int i = 0; i < table->num_entries; i++)
	{
		const WscLockEntry *entry = &table->entries[i];
		int			g = group_of_slot[entry->leader_slot];

		if (g < 0)
		{
			g = graph->num_groups++;
			group_of_slot[entry->leader_slot] = g;
			graph->groups[g].leader_slot = entry->leader_slot;
			graph->groups[g].leader_pid = entry->leader_pid;
			graph->groups[g].first_entry = -1;
			graph->groups[g].node = -1;
		}
		graph->group_of_entry[i] = g;
		graph->next_of_group[i] = graph->groups[g].first_entry;
		graph->groups[g].first_entry = i;
	}
	pfree(group_of_slot);
}

/* A node; of its group if that has none. */
static void
add_node(WscLockGraph *graph, int group, int entry)
{
	const WscLockEntry *any =
	&graph->table->entries[graph->groups[group].first_entry];
	WscLockNode *node = &graph->nodes[graph->num_nodes];

	node->entry = entry;
	node->group = group;
	node->slot = graph->groups[group].leader_slot;
	node->pid = graph->groups[group].leader_pid;
	node->prepared_xid = any->prepared_xid;
	if (entry >= 0)
	{
		node->slot = graph->table->entries[entry].slot;
		node->pid = graph->table->entries[entry].pid;
	}
	node->blocker = -1;
	node->parent = -1;
	if (graph->groups[group].node < 0)
		graph->groups[group].node = graph->num_nodes;
	graph->num_nodes++;
}

/* Moment since when a group waits; -1: it waits for nobody. */
static TimestampTz
get_group_wait(const WscLockGraph *graph, int group)
{
	int			entry = graph->nodes[graph->groups[group].node].entry;

	return entry < 0 ? -1 : graph->table->entries[entry].wait_start;
}

/* The place of a waiting node; all that hold it up become nodes, too. */
static void
place_node(WscLockGraph *graph, WscLockNode *node)
{
	const WscLockTable *table = graph->table;
	const WscContendedLock *lock =
	&table->locks[table->entries[node->entry].lock];
	TimestampTz first_wait = 0;

	for (int i = 0; i < lock->num_entries; i++)
	{
		int			other = lock->first_entry + i;
		int			group = graph->group_of_entry[other];

		if (WscLockBlocks(graph, node->entry, other) != WSC_HELD_UP)
			continue;
		if (graph->groups[group].node < 0)
			add_node(graph, group, -1);
		if (node->blocker < 0 || get_group_wait(graph, group) < first_wait)
		{
			node->blocker = other;
			first_wait = get_group_wait(graph, group);
		}
	}
	for (int i = lock->first_waiter;
		 node->blocker < 0 && table->waiters[i] != node->entry; i++)
	{
		if (WscLockBlocks(graph, node->entry, table->waiters[i]) ==
			WSC_QUEUED_BEHIND)
			node->blocker = table->waiters[i];
	}
	if (node->blocker >= 0)
		node->parent =
			graph->groups[graph->group_of_entry[node->blocker]].node;
}

/* When the first of its waiters began to wait, as far as that is known. */
static TimestampTz
get_first_wait(const WscLockTable *table, const WscContendedLock *lock)
{
	TimestampTz first = PG_INT64_MAX;

	for (int i = 0; i < lock->num_waiters; i++)
	{
		const WscLockEntry *entry =
		&table->entries[table->waiters[lock->first_waiter + i]];

		if (entry->wait_start != 0)
			first = Min(first, entry->wait_start);
	}
	return first;
}

static int
compare_locks(const void *a, const void *b, void *arg)
{
	const TimestampTz *first_wait = (const TimestampTz *) arg;
	int			i = *(const int *) a;
	int			j = *(const int *) b;

	if (first_wait[i] != first_wait[j])
		return first_wait[i] < first_wait[j] ? -1 : 1;
	return i < j ? -1 : 1;
}

/*
 * Step 2.  In the order in which they will stand below the same node: locks
 * waited for longest first, and each in the order of its queue.
 */
static void
make_nodes(WscLockGraph *graph)
{
	const WscLockTable *table = graph->table;
	int		   *locks = allocate(table->num_locks, sizeof(int));
	TimestampTz *first_wait = allocate(table->num_locks, sizeof(TimestampTz));

	for (int i = 0; i < table->num_locks; i++)
	{
		locks[i] = i;
		first_wait[i] = get_first_wait(table, &table->locks[i]);
	}
	qsort_arg(locks, (Size) table->num_locks, sizeof(int), compare_locks,
			  first_wait);
	for (int i = 0; i < table->num_locks; i++)
	{
		const WscContendedLock *lock = &table->locks[locks[i]];

		for (int j = 0; j < lock->num_waiters; j++)
		{
			int			waiter = table->waiters[lock->first_waiter + j];

			add_node(graph, graph->group_of_entry[waiter], waiter);
		}
	}
	for (int i = 0; i < table->num_waiters; i++)
	{
		CHECK_FOR_INTERRUPTS();
		place_node(graph, &graph->nodes[i]);
	}
	pfree(locks);
	pfree(first_wait);
}

/* Of a circle of places that this node is part of. */
static int
find_longest_waiter(const WscLockGraph *graph, int start)
{
	const WscLockEntry *entries = graph->table->entries;
	const WscLockNode *nodes = graph->nodes;
	int			longest = start;

	for (int i = nodes[start].parent; i != start; i = nodes[i].parent)
	{
		TimestampTz since = entries[nodes[i].entry].wait_start;
		TimestampTz longest_since = entries[nodes[longest].entry].wait_start;

		if (since < longest_since || (since == longest_since && i < longest))
			longest = i;
	}
	return longest;
}

/* On each way up: whoever comes to a node it has met itself is in a circle. */
static void
cut_circles(WscLockGraph *graph)
{
	int		   *met_from = allocate(graph->num_nodes, sizeof(int));

	for (int start = 0; start < graph->num_nodes; start++)
	{
		int			i = start;

		while (i >= 0 && met_from[i] == 0)
		{
			met_from[i] = start + 1;
			i = graph->nodes[i].parent;
		}
		if (i >= 0 && met_from[i] == start + 1)
			graph->nodes[find_longest_waiter(graph, i)].parent = -1;
	}
	pfree(met_from);
}

static int
compare_roots(const void *a, const void *b, void *arg)
{
	const WscLockNode *nodes = (const WscLockNode *) arg;
	int			i = *(const int *) a;
	int			j = *(const int *) b;

	if (nodes[i].blocked_count != nodes[j].blocked_count)
		return nodes[i].blocked_count > nodes[j].blocked_count ? -1 : 1;
	return i < j ? -1 : 1;
}

/* Step 4. */
static void
order_nodes(WscLockGraph *graph)
{
	WscLockNode *nodes = graph->nodes;
	int		   *roots = allocate(graph->num_nodes, sizeof(int));
	int		   *first_child = allocate(graph->num_nodes, sizeof(int));
	int		   *next_sibling = allocate(graph->num_nodes, sizeof(int));
	int			num_roots = 0;
	int			n = 0;

	cut_circles(graph);
	for (int i = 0; i < graph->num_nodes; i++)
		first_child[i] = next_sibling[i] = -1;
	for (int i = graph->num_nodes; --i >= 0;)
	{
		int			parent = nodes[i].parent;

		if (parent < 0)
		{
			roots[num_roots++] = i;
			continue;
		}
		next_sibling[i] = first_child[parent];
		first_child[parent] = i;
	}
	qsort_arg(roots, (Size) num_roots, sizeof(int), compare_roots, nodes);

	for (int r = 0; r < num_roots; r++)
	{
		int			i = roots[r];

		while (i >= 0)
		{
			int			parent = nodes[i].parent;

			graph->order[n++] = i;
			nodes[i].root = roots[r];
			nodes[i].depth = parent < 0 ? 0 : nodes[parent].depth + 1;
			if (first_child[i] >= 0)
			{
				i = first_child[i];
				continue;
			}
			while (i >= 0 && next_sibling[i] < 0)
				i = nodes[i].parent;
			if (i >= 0)
				i = next_sibling[i];
		}
	}
	Assert(n == graph->num_nodes);
}

void
WscLockGraphBuild(WscLockGraph *graph, const WscLockTable *table)
{
	int			max_nodes = table->num_waiters + table->num_entries;

	memset(graph, 0, sizeof(*graph));
	graph->table = table;
	graph->group_of_entry = allocate(table->num_entries, sizeof(int));
	graph->next_of_group = allocate(table->num_entries, sizeof(int));
	graph->groups = allocate(table->num_entries, sizeof(WscLockGroup));
	graph->nodes = allocate(max_nodes, sizeof(WscLockNode));
	number_groups(graph);
	graph->seen = allocate(graph->num_groups, sizeof(int));
	make_nodes(graph);
	WscLockFindCycles(graph);
	WscLockCountBlocked(graph);
	graph->order = allocate(graph->num_nodes, sizeof(int));
	order_nodes(graph);
}
