/*-------------------------------------------------------------------------
 *
 * empty_loop.c
 *	  The wake-ups of the sampler and nothing else.
 *
 * What the sampler costs beyond this loop is its own work; what this loop
 * costs is the price of waking up.  Same clock, same grid, same one-shot
 * absolute timerfd waited for by epoll, one random instant in each cell, the
 * newest passed instant taken and the older ones counted as missed.
 *
 *	  empty_loop PERIOD_US COUNTERS
 *
 * COUNTERS is a file that the loop maps: two 64-bit integers in native byte
 * order, ticks taken and ticks missed.  It is read while the loop runs.  Ends
 * by signal.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NSECS_PER_SEC INT64_C(1000000000)

typedef struct Counters
{
	int64_t		ticks;
	int64_t		missed;
} Counters;

static uint64_t seed;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
read_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t) ts.tv_sec * NSECS_PER_SEC + ts.tv_nsec;
}

/* The same mix as the sampler's, so that an instant costs the same. */
static int64_t
draw_instant(int64_t cell, int64_t period)
{
	uint64_t	z = (seed += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	z ^= z >> 31;
	return cell * period + (int64_t) (z % (uint64_t) period);
}

static volatile Counters *
map_counters(const char *path)
{
	int			fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	void	   *mem;

	if (fd < 0 || ftruncate(fd, sizeof(Counters)) != 0)
		die(path);
	mem = mmap(NULL, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);
	if (mem == MAP_FAILED)
		die("mmap");
	close(fd);
	return (volatile Counters *) mem;
}

static void
run(int64_t period, volatile Counters *counters, int timer, int poll)
{
	int64_t		now = read_clock();
	int64_t		cell = now / period + 1;
	int64_t		next = draw_instant(cell, period);

	for (;;)
	{
		struct itimerspec spec = {{0, 0}, {0, 0}};
		struct epoll_event event;

		spec.it_value.tv_sec = next / NSECS_PER_SEC;
		spec.it_value.tv_nsec = next % NSECS_PER_SEC;
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL);
		epoll_wait(poll, &event, 1, -1);

		now = read_clock();
		if (now < next)
			continue;
		counters->ticks++;
		if (cell < now / period - 1)
		{
			counters->missed += now / period - 1 - cell;
			cell = now / period - 1;
			next = draw_instant(cell, period);
		}
		for (;;)
		{
			next = draw_instant(++cell, period);
			if (now < next)
				break;
			counters->missed++;
		}
	}
}

int
main(int argc, char **argv)
{
	int64_t		period = argc == 3 ? atol(argv[1]) * 1000 : 0;
	struct epoll_event event;
	int			timer;
	int			poll;

	if (period <= 0)
	{
		fprintf(stderr, "usage: empty_loop PERIOD_US COUNTERS\n");
		return 2;
	}
	seed = (uint64_t) read_clock() ^ ((uint64_t) getpid() << 32);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	poll = epoll_create1(EPOLL_CLOEXEC);
	if (timer < 0 || poll < 0)
		die("timerfd or epoll");
	memset(&event, 0, sizeof(event));
	event.events = EPOLLIN;
	if (epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event) != 0)
		die("epoll_ctl");
	run(period, map_counters(argv[2]), timer, poll);
	return 0;
}
