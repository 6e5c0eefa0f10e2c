/*-------------------------------------------------------------------------
 *
 * stores_test.h
 *	  Test driver for the stores: what its files share.
 *
 * The library compiles the stores' sources into itself and keeps them in
 * shared memory of its own, so that their sizes are a test's to choose and
 * no sampler interferes.  It must be preloaded.  stores_init() makes all
 * stores but the event dictionary anew; nobody may use them meanwhile.  Any
 * backend may then be the writer, one at a time, and any number read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef STORES_TEST_H
#define STORES_TEST_H

#include "fmgr.h"
#include "portability/instr_time.h"

#include "port/compat.h"
#include "sample/sample.h"
#include "store/store.h"

/* A function of SQL; the server's macro alone would not export it before 16. */
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/* The largest stores_init() takes; there is room for that much. */
#define TEST_MAX_RING_SLOTS 65536
#define TEST_MAX_PROFILE 20000

/* The largest tick. */
#define TEST_MAX_SAMPLES 1000

/*
 * Moment of the first tick, years from now, so that no tick is before a
 * reset unless a test wants it to be.
 */
#define TEST_FIRST_TICK (INT64CONST(1) << 50)

/* The weight of all ticks whose weight a reader checks. */
#define TEST_WEIGHT_NS 7

typedef struct TestControl
{
	/* written by stores_init() */
	int64		ring_slots;
	int32		profile_max;
	int32		dimensions;

	int64		next_seq;		/* of the next ring sample; writer's */
	int64		next_tick;		/* its moment; writer's */

	pg_atomic_uint64 written;	/* ticks of the writer that runs */
	pg_atomic_uint32 parked;	/* pid of the reader that stopped itself */
	pg_atomic_uint32 stop;		/* set by stop_calls() */
} TestControl;

extern TestControl *control;

/* Maps the stores as stores_init() made them; an error if nobody did. */
extern void attach_stores(void);

/*
 * For loops that run so many ms, or until stop_calls() if that is sooner.
 * Also lets the backend be cancelled.
 */
extern bool time_is_up(instr_time start, int ms);

extern double elapsed_ns(instr_time start);

/* What readers return. */
typedef struct Findings
{
	int64		passes;
	int64		checked;
	int64		torn;
} Findings;

/* Rows of the function's OUT parameters, none of them NULL. */
extern Datum make_row(FunctionCallInfo fcinfo, Datum *values);
extern Datum report(FunctionCallInfo fcinfo, const Findings *found);

/* For tests of ticks that large; an error if it is too large. */
extern int	check_tick_size(int n);

/* A number that shows every bit of its arguments. */
static inline uint32
mix(uint64 a, uint64 b)
{
	uint64		z = a * UINT64CONST(0x9E3779B97F4A7C15) + b;

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	return (uint32) (z >> 32);
}

#endif							/* STORES_TEST_H */
