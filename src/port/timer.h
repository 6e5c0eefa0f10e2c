/*-------------------------------------------------------------------------
 *
 * timer.h
 *	  Sleep until a moment of CLOCK_MONOTONIC, or until the latch is set.
 *
 * Resolution is that of the kernel's timers on Linux, one millisecond
 * elsewhere.  Postmaster death ends the process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_TIMER_H
#define WSC_TIMER_H

typedef struct WscTimer WscTimer;

/* Allocates in TopMemoryContext. */
extern WscTimer *WscTimerCreate(void);
extern void WscTimerDestroy(WscTimer *timer);

extern int64 WscTimerNow(void);

/*
 * Returns when until_ns has come (-1: never), or MyLatch was set (it is
 * reset then); the caller looks at the clock and at its flags.
 */
extern void WscTimerWait(WscTimer *timer, int64 until_ns,
						 uint32 wait_event_info);

#endif							/* WSC_TIMER_H */
