/*-------------------------------------------------------------------------
 *
 * timer.c
 *	  Sleep until a moment of CLOCK_MONOTONIC, or until the latch is set.
 *
 * WaitLatch() alone rounds to milliseconds and drifts when its timeout is
 * computed anew each time (2.5 % at 10 ms, 23 % at 1 ms when tried).  On
 * Linux a one-shot timerfd stands in the same wait as the latch and
 * postmaster death, so that signals act at once at every period.  Arming it
 * again clears an earlier expiry: there is nothing to read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/timerfd.h>
#endif

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "port/timer.h"

#define NSECS_PER_SEC INT64CONST(1000000000)
#define NSECS_PER_MSEC INT64CONST(1000000)

struct WscTimer
{
	int			fd;				/* -1: use the timeout of WaitLatch() */
	WaitEventSet *set;			/* latch, postmaster death and fd */
};

#ifdef __linux__
/* 17 changed the first argument from a memory context to an owner. */
static inline WaitEventSet *
create_event_set(int nevents)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, nevents);
#else
	return CreateWaitEventSet(TopMemoryContext, nevents);
#endif
}
#endif

int64
WscTimerNow(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64) ts.tv_sec * NSECS_PER_SEC + ts.tv_nsec;
}

#ifdef __linux__
static void
close_timer(WscTimer *timer)
{
	if (timer->set != NULL)
		FreeWaitEventSet(timer->set);
	close(timer->fd);
	ReleaseExternalFD();
}

/* Puts the timer into one wait with the latch and postmaster death. */
static void
watch_timer(WscTimer *timer)
{
	PG_TRY();
	{
		timer->set = create_event_set(3);
		AddWaitEventToSet(timer->set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch,
						  NULL);
		AddWaitEventToSet(timer->set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET,
						  NULL, NULL);
		AddWaitEventToSet(timer->set, WL_SOCKET_READABLE, timer->fd, NULL,
						  NULL);
	}
	PG_CATCH();
	{
		close_timer(timer);
		pfree(timer);
		PG_RE_THROW();
	}
	PG_END_TRY();
}
#endif

WscTimer *
WscTimerCreate(void)
{
	WscTimer   *timer = MemoryContextAlloc(TopMemoryContext, sizeof(WscTimer));

	timer->fd = -1;
	timer->set = NULL;
#ifdef __linux__
	if (IsUnderPostmaster && AcquireExternalFD())
	{
		timer->fd = timerfd_create(CLOCK_MONOTONIC,
								   TFD_CLOEXEC | TFD_NONBLOCK);
		if (timer->fd < 0)
			ReleaseExternalFD();
		else
			watch_timer(timer);
	}
#endif
	return timer;
}

void
WscTimerDestroy(WscTimer *timer)
{
#ifdef __linux__
	if (timer->fd >= 0)
		close_timer(timer);
#endif
	pfree(timer);
}

#ifdef __linux__
static void
arm_timer(WscTimer *timer, int64 until_ns)
{
	struct itimerspec spec = {{0, 0}, {0, 0}};

	/* All zero disarms; a moment that has passed fires at once. */
	if (until_ns >= 0)
	{
		spec.it_value.tv_sec = (time_t) (until_ns / NSECS_PER_SEC);
		spec.it_value.tv_nsec = (long) Max(until_ns % NSECS_PER_SEC, 1);
	}
	timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void
wait_for_timer(WscTimer *timer, int64 until_ns, uint32 wait_event_info)
{
	WaitEvent	event;

	arm_timer(timer, until_ns);
	if (WaitEventSetWait(timer->set, -1, &event, 1, wait_event_info) == 1 &&
		(event.events & WL_LATCH_SET) != 0)
		ResetLatch(MyLatch);
}
#endif

static void
wait_for_latch(int64 until_ns, uint32 wait_event_info)
{
	int			flags = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;
	int64		left_ms = 0;

	if (until_ns >= 0)
	{
		flags |= WL_TIMEOUT;
		left_ms = (until_ns - WscTimerNow() + NSECS_PER_MSEC - 1) /
			NSECS_PER_MSEC;
		left_ms = Min(Max(left_ms, 0), INT_MAX);
	}
	if ((WaitLatch(MyLatch, flags, (long) left_ms, wait_event_info) &
		 WL_LATCH_SET) != 0)
		ResetLatch(MyLatch);
}

void
WscTimerWait(WscTimer *timer, int64 until_ns, uint32 wait_event_info)
{
#ifdef __linux__
	if (timer->fd >= 0)
	{
		wait_for_timer(timer, until_ns, wait_event_info);
		return;
	}
#endif
	wait_for_latch(until_ns, wait_event_info);
}
