/*-------------------------------------------------------------------------
 *
 * stress.c
 *	  Each form of fetch_mask_add: its contract, then threads that read and
 *	  write under a lock word made of it, with the masks of FmLock.
 *
 * usage: stress THREADS OPERATIONS SECONDS [FORM]
 *
 * A program without a server, so that it also runs under emulation.  It
 * fails, and says why, if a reader saw half a write, if an addition was lost,
 * if a thread did nothing of a kind, or if for that many seconds nobody got
 * on.  FORM is how the names of the forms begin that are to be run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "lock/fmlock_word.h"
#include "port/atomics/fetch_mask_add.h"

/* The server's own are in the server. */
#undef printf

#define MAX_THREADS 64
#define POLLS_PER_SECOND 100

typedef uint32 (*FetchMaskAdd) (volatile pg_atomic_uint32 *ptr, uint32 mask,
								uint32 add, uint32 *retries);

typedef struct Form
{
	const char *name;
	FetchMaskAdd op;
}			Form;

static const Form forms[] =
{
	{"generic, acquire", wsc_generic_fetch_mask_add_u32_acquire},
	{"generic, full", wsc_generic_fetch_mask_add_u32},
#ifdef WSC_NATIVE_FETCH_MASK_ADD
	{"native, acquire", wsc_native_fetch_mask_add_u32_acquire},
	{"native, full", wsc_native_fetch_mask_add_u32},
#endif
#ifdef WSC_LLSC_FETCH_MASK_ADD
	{"llsc, acquire", wsc_llsc_fetch_mask_add_u32_acquire},
	{"llsc, full", wsc_llsc_fetch_mask_add_u32},
#endif
};

typedef struct Worker
{
	pthread_t	thread;
	uint32		seed;
	uint64		reads;
	uint64		writes;
	uint64		torn;
	uint32		retries;
} Worker;

static Worker workers[MAX_THREADS];
static FetchMaskAdd op;
static uint32 nthreads;
static uint32 noperations;

/* The lock, what it guards, and what every operation adds to. */
static pg_atomic_uint32 word;
static uint64 first;
static uint64 second;
static pg_atomic_uint32 count;
static pg_atomic_uint32 finished;

/* One call, alone: is the result, and what is left in the word, as told? */
static bool
keeps_contract(uint32 before, uint32 mask, uint32 add, uint32 after)
{
	uint32		retries = 0;
	uint32		old;

	pg_atomic_init_u32(&word, before);
	old = op(&word, mask, add, &retries);
	if (old == before && pg_atomic_read_u32(&word) == after)
		return true;
	printf("%#x, mask %#x, add %#x: returned %#x, left %#x\n",
		   before, mask, add, old, pg_atomic_read_u32(&word));
	return false;
}

static bool
check_contract(void)
{
	const uint32 top = FMLOCK_WRITER;
	bool		good = true;

	good &= keeps_contract(0, 0, 1, 1);
	good &= keeps_contract(5, 0, 7, 12);
	good &= keeps_contract(5, 2, 7, 12);
	good &= keeps_contract(5, 4, 7, 5);
	good &= keeps_contract(5, PG_UINT32_MAX, 7, 5);
	good &= keeps_contract(0, PG_UINT32_MAX, 7, 7);
	good &= keeps_contract(top, top, 1, top);
	good &= keeps_contract(top - 1, top, top, PG_UINT32_MAX);
	good &= keeps_contract(PG_UINT32_MAX, 0, 2, 1);
	good &= keeps_contract(top, 1, top, 0);
	good &= keeps_contract(3, 4, 0, 3);
	return good;
}

static uint32
next_random(uint32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

/* Sometimes let others run in the middle of it. */
static void
dawdle(Worker *me)
{
	if (next_random(&me->seed) % 16 == 0)
		sched_yield();
}

static void
write_once(Worker *me)
{
	first++;
	dawdle(me);
	second++;
	me->writes++;
}

static void
read_once(Worker *me)
{
	uint64		seen = first;

	dawdle(me);
	me->torn += seen != second;
	me->reads++;
}

/* Those that are stuck do not take the processor from the rest. */
static void
get_lock(Worker *me, FmLockPair pair)
{
	uint32		spins = 0;

	while ((op(&word, pair.mask, pair.add, &me->retries) & pair.mask) != 0)
	{
		if (++spins < 100)
			sched_yield();
		else
			usleep(1000);
	}
}

static void *
work(void *arg)
{
	Worker	   *me = arg;

	for (uint32 i = 0; i < noperations; i++)
	{
		bool		writes = next_random(&me->seed) % 4 == 0;
		FmLockMode	mode = writes ? FMLOCK_EXCLUSIVE : FMLOCK_SHARED;
		FmLockPair	pair = fmlock_pairs[mode];

		get_lock(me, pair);
		if (writes)
			write_once(me);
		else
			read_once(me);
		pg_atomic_add_fetch_u32(&word, (int32) (0 - pair.add));
		op(&count, 0, 1, &me->retries);
	}
	pg_atomic_fetch_add_u32(&finished, 1);
	return NULL;
}

/* Waits for the threads to finish; not if they are stuck. */
static bool
all_finish(int seconds)
{
	uint32		last = 0;
	int			polls = 0;

	while (pg_atomic_read_u32(&finished) < nthreads)
	{
		uint32		now = pg_atomic_read_u32(&count);

		polls = now == last ? polls + 1 : 0;
		last = now;
		if (polls > seconds * POLLS_PER_SECOND)
		{
			printf("stuck after %u operations, word %#x\n",
				   last, pg_atomic_read_u32(&word));
			return false;
		}
		usleep(1000000 / POLLS_PER_SECOND);
	}
	for (uint32 i = 0; i < nthreads; i++)
		pthread_join(workers[i].thread, NULL);
	return true;
}

static bool
check_results(const char *name)
{
	Worker		sum = {0};
	uint32		idle = 0;
	uint32		counted = pg_atomic_read_u32(&count);
	uint32		left = pg_atomic_read_u32(&word);

	for (uint32 i = 0; i < nthreads; i++)
	{
		const Worker *worker = &workers[i];

		idle += worker->reads == 0 || worker->writes == 0;
		sum.reads += worker->reads;
		sum.writes += worker->writes;
		sum.torn += worker->torn;
		sum.retries += worker->retries;
	}
	printf("%s: %llu reads, %llu writes, %u retries; %llu torn, "
		   "written %llu and %llu times, %u counted, word %#x, %u idle\n",
		   name, (unsigned long long) sum.reads,
		   (unsigned long long) sum.writes, sum.retries,
		   (unsigned long long) sum.torn, (unsigned long long) first,
		   (unsigned long long) second, counted, left, idle);
	return idle == 0 && sum.torn == 0 && first == sum.writes &&
		second == sum.writes && counted == sum.reads + sum.writes &&
		counted == nthreads * noperations && left == FMLOCK_RELEASE_OK;
}

static bool
stress(const Form * form, int seconds)
{
	op = form->op;
	if (!check_contract())
	{
		printf("%s: does not keep the contract\n", form->name);
		return false;
	}

	pg_atomic_init_u32(&word, FMLOCK_RELEASE_OK);
	pg_atomic_init_u32(&count, 0);
	pg_atomic_init_u32(&finished, 0);
	first = second = 0;
	memset(workers, 0, sizeof(workers));
	for (uint32 i = 0; i < nthreads; i++)
	{
		workers[i].seed = i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
		{
			printf("no thread %u\n", i);
			return false;
		}
	}
	return all_finish(seconds) && check_results(form->name);
}

int
main(int argc, char **argv)
{
	const char *which = argc == 5 ? argv[4] : "";
	int			done = 0;

	if (argc < 4 || argc > 5)
		return 2;
	nthreads = (uint32) atoi(argv[1]);
	noperations = (uint32) atoi(argv[2]);
	if (nthreads < 2 || nthreads > MAX_THREADS)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < lengthof(forms); i++)
	{
		if (strncmp(forms[i].name, which, strlen(which)) != 0)
			continue;
		done++;

		/* Without waiting for the threads, which may be stuck. */
		if (!stress(&forms[i], atoi(argv[3])))
			_exit(1);
	}
	return done > 0 ? 0 : 2;
}
