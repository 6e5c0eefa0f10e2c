/*-------------------------------------------------------------------------
 *
 * lock_paths.c
 *	  Circles of waiting processes, and how many wait for each.
 *
 * Circles are the strongly connected components of more than one lock group
 * (Tarjan's algorithm, with a stack of its own): from each of their groups a
 * path leads back to it.
 *
 * Who waits for a group, directly or not, is counted by going from group to
 * group.  A waiter that has been counted is skipped from then on, so that a
 * long queue is gone through once for each group asked for and not once for
 * each of its waiters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sample/lock_paths.h"

/* A group whose blockers are being visited: the next pair to look at. */
typedef struct Visit
{
	int			group;
	int			waiter;			/* entry of the group; -1: all are done */
	int			next;			/* entry of the same lock, from its first */
} Visit;

typedef struct CycleSearch
{
	const WscLockGraph *graph;
	int			num_found;
	int		   *found;			/* per group: when; 0: not yet */
	int		   *lowest;			/* found of the earliest one reachable */
	bool	   *is_pending;		/* on the stack of groups */
	int		   *pending;
	int			num_pending;
	Visit	   *visits;
	int			num_visits;
} CycleSearch;

typedef struct Counting
{
	const WscLockGraph *graph;
	int		   *next_uncounted; /* per waiter, see find_uncounted() */
	bool	   *is_reached;		/* per group */
	int		   *reached;
	int			num_reached;
	int			count;
} Counting;

static void *
allocate(int n, Size size)
{
	return palloc0((Size) (n + 1) * size);
}

static void
begin_visit(CycleSearch *search, int group)
{
	Visit	   *visit = &search->visits[search->num_visits++];

	visit->group = group;
	visit->waiter = search->graph->groups[group].first_entry;
	visit->next = 0;
	search->found[group] = search->lowest[group] = ++search->num_found;
	search->is_pending[group] = true;
	search->pending[search->num_pending++] = group;
}

/* The next group that the visited one waits for; -1: there are no more. */
static int
find_next_blocker(const WscLockGraph *graph, Visit *visit)
{
	const WscLockTable *table = graph->table;

	while (visit->waiter >= 0)
	{
		const WscLockEntry *entry = &table->entries[visit->waiter];
		const WscContendedLock *lock = &table->locks[entry->lock];

		while (entry->wanted != NoLock && visit->next < lock->num_entries)
		{
			int			other = lock->first_entry + visit->next++;

			if (WscLockBlocks(graph, visit->waiter, other) != WSC_NOT_BLOCKED)
				return graph->group_of_entry[other];
		}
		visit->waiter = graph->next_of_group[visit->waiter];
		visit->next = 0;
	}
	return -1;
}

/* All that are pending from the group on are one component. */
static void
end_component(CycleSearch *search, int group)
{
	bool		is_cycle = search->pending[search->num_pending - 1] != group;
	int			member;

	do
	{
		member = search->pending[--search->num_pending];
		search->is_pending[member] = false;
		search->graph->groups[member].in_cycle = is_cycle;
	} while (member != group);
}

static void
visit_all_from(CycleSearch *search, int group)
{
	begin_visit(search, group);
	while (search->num_visits > 0)
	{
		Visit	   *visit = &search->visits[search->num_visits - 1];
		int			current = visit->group;
		int			blocker = find_next_blocker(search->graph, visit);

		if (blocker >= 0 && search->found[blocker] == 0)
			begin_visit(search, blocker);
		else if (blocker >= 0)
		{
			if (search->is_pending[blocker])
				search->lowest[current] = Min(search->lowest[current],
											  search->found[blocker]);
		}
		else
		{
			if (search->lowest[current] == search->found[current])
				end_component(search, current);
			if (--search->num_visits > 0)
			{
				int			before = visit[-1].group;

				search->lowest[before] = Min(search->lowest[before],
											 search->lowest[current]);
			}
		}
	}
}

void
WscLockFindCycles(const WscLockGraph *graph)
{
	int			n = graph->num_groups;
	CycleSearch search = {.graph = graph};

	search.found = allocate(n, sizeof(int));
	search.lowest = allocate(n, sizeof(int));
	search.is_pending = allocate(n, sizeof(bool));
	search.pending = allocate(n, sizeof(int));
	search.visits = allocate(n, sizeof(Visit));
	for (int group = 0; group < n; group++)
	{
		CHECK_FOR_INTERRUPTS();
		if (search.found[group] == 0)
			visit_all_from(&search, group);
	}
	for (int i = 0; i < graph->num_nodes; i++)
		graph->nodes[i].in_cycle =
			graph->groups[graph->nodes[i].group].in_cycle;
}

/*
 * The first waiter, from this one on, that is not counted yet; on the way
 * shortens the way of those who ask later.
 */
static int
find_uncounted(int *next_uncounted, int waiter)
{
	while (next_uncounted[waiter] != waiter)
	{
		next_uncounted[waiter] = next_uncounted[next_uncounted[waiter]];
		waiter = next_uncounted[waiter];
	}
	return waiter;
}

/* Counts the processes that wait for this entry's process. */
static void
count_waiters_of(Counting *counting, int source, int entry)
{
	const WscLockGraph *graph = counting->graph;
	const WscLockTable *table = graph->table;
	const WscLockEntry *by = &table->entries[entry];
	const WscContendedLock *lock = &table->locks[by->lock];
	int			end = lock->first_waiter + lock->num_waiters;
	int			i = lock->first_waiter;

	/* It holds nothing: only those behind it may wait for it. */
	if (by->held == 0)
		i = by->wanted != NoLock ? by->waiter + 1 : end;

	for (i = find_uncounted(counting->next_uncounted, i); i < end;
		 i = find_uncounted(counting->next_uncounted, i + 1))
	{
		int			waiter = table->waiters[i];
		int			group = graph->group_of_entry[waiter];

		if (group == source ||
			WscLockBlocks(graph, waiter, entry) == WSC_NOT_BLOCKED)
			continue;
		counting->next_uncounted[i] = i + 1;
		counting->count++;
		if (!counting->is_reached[group])
		{
			counting->is_reached[group] = true;
			counting->reached[counting->num_reached++] = group;
		}
	}
}

static int
count_blocked(Counting *counting, int source)
{
	const WscLockGraph *graph = counting->graph;

	for (int i = 0; i <= graph->table->num_waiters; i++)
		counting->next_uncounted[i] = i;
	memset(counting->is_reached, 0, (Size) graph->num_groups * sizeof(bool));
	counting->is_reached[source] = true;
	counting->reached[0] = source;
	counting->num_reached = 1;
	counting->count = 0;
	for (int i = 0; i < counting->num_reached; i++)
	{
		int			group = counting->reached[i];

		for (int entry = graph->groups[group].first_entry; entry >= 0;
			 entry = graph->next_of_group[entry])
			count_waiters_of(counting, source, entry);
	}
	return counting->count;
}

void
WscLockCountBlocked(const WscLockGraph *graph)
{
	Counting	counting = {.graph = graph};

	counting.next_uncounted = allocate(graph->table->num_waiters, sizeof(int));
	counting.is_reached = allocate(graph->num_groups, sizeof(bool));
	counting.reached = allocate(graph->num_groups, sizeof(int));
	for (int i = 0; i < graph->num_nodes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		graph->nodes[i].blocked_count =
			count_blocked(&counting, graph->nodes[i].group);
	}
}
