/*-------------------------------------------------------------------------
 *
 * stores_test.c
 *	  Test driver for the stores: shared memory, reset, event dictionary.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "stores_test.h"
#include "lock/fmlock.h"
#include "lock/lockstat.h"
#include "port/lock_compat.h"
#include "port/shmem_compat.h"
#include "store/eventdict.h"
#include "store/events.h"
#include "store/hotblocks.h"
#include "store/lwlocks.h"
#include "store/profile.h"
#include "store/ring.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

SQL_FUNCTION(stores_init);
SQL_FUNCTION(store_reset);
SQL_FUNCTION(reset_ahead);
SQL_FUNCTION(store_info);
SQL_FUNCTION(written_ticks);
SQL_FUNCTION(parked_pid);
SQL_FUNCTION(stop_calls);
SQL_FUNCTION(dict_give);
SQL_FUNCTION(dict_id);
SQL_FUNCTION(dict_name);
SQL_FUNCTION(code_name);
SQL_FUNCTION(new_tranche);
SQL_FUNCTION(lock_gets);
SQL_FUNCTION(cut_off_change);

TestControl *control;

/* Regions of shared memory, in the order of the enum. */
enum
{
	R_CONTROL, R_LOCKS, R_DICT, R_RING, R_EVENTS, R_PROFILE, R_LWLOCKS, R_HOT,
	NUM_REGIONS
};

static void *regions[NUM_REGIONS];

static Size
region_size(int i)
{
	switch (i)
	{
		case R_CONTROL:
			return sizeof(TestControl);
		case R_LOCKS:
			return FmLockShmemSize(WscMaxProcs());
		case R_DICT:
			return WscEventDictSize();
		case R_RING:
			return WscRingSize(TEST_MAX_RING_SLOTS);
		case R_EVENTS:
			return WscEventsSize();
		case R_PROFILE:
			return WscProfileSize(TEST_MAX_PROFILE);
		case R_LWLOCKS:
			return WscLWLocksSize();
		default:
			return WscHotBlocksSize();
	}
}

static void
request_regions(void)
{
	Size		total = 0;
	int			i;

	for (i = 0; i < NUM_REGIONS; i++)
		total = add_size(total, CACHELINEALIGN(region_size(i)));
	RequestAddinShmemSpace(total);
}

static void
attach_regions(void)
{
	bool		found[NUM_REGIONS];
	int			i;

	for (i = 0; i < NUM_REGIONS; i++)
	{
		char		name[64];

		snprintf(name, sizeof(name), "stores test %d", i);
		regions[i] = ShmemInitStruct(name, region_size(i), &found[i]);
	}

	control = regions[R_CONTROL];
	if (!found[R_CONTROL])
		memset(control, 0, sizeof(*control));
	FmLockShmemAttach(regions[R_LOCKS], WscMaxProcs(), found[R_LOCKS]);
	WscEventDictAttach(regions[R_DICT], found[R_DICT]);
}

void
_PG_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		WscInstallShmemHooks(request_regions, attach_regions);
}

static void
attach_as(bool found)
{
	WscRingAttach(regions[R_RING], control->ring_slots, found);
	WscEventsAttach(regions[R_EVENTS], found);
	WscProfileAttach(regions[R_PROFILE], control->profile_max,
					 control->dimensions, found);
	WscLWLocksAttach(regions[R_LWLOCKS], found);
	WscHotBlocksAttach(regions[R_HOT], found);
}

void
attach_stores(void)
{
	if (control == NULL || control->ring_slots == 0)
		elog(ERROR, "wsc_test_stores is not preloaded or not initialised");
	attach_as(true);
}

bool
time_is_up(instr_time start, int ms)
{
	CHECK_FOR_INTERRUPTS();
	return elapsed_ns(start) >= ms * 1e6 ||
		pg_atomic_read_u32(&control->stop) != 0;
}

double
elapsed_ns(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now) * 1e9;
}

/* stores_init(ring_slots integer, profile_max integer, dimensions integer) */
Datum
stores_init(PG_FUNCTION_ARGS)
{
	int			ring_slots = PG_GETARG_INT32(0);
	int			profile_max = PG_GETARG_INT32(1);

	if (control == NULL)
		elog(ERROR, "wsc_test_stores is not preloaded");
	if (ring_slots < 1 || ring_slots > TEST_MAX_RING_SLOTS ||
		profile_max < 1 || profile_max > TEST_MAX_PROFILE)
		elog(ERROR, "sizes out of range");

	control->ring_slots = ring_slots;
	control->profile_max = profile_max;
	control->dimensions = PG_GETARG_INT32(2);
	control->next_seq = 1;
	control->next_tick = TEST_FIRST_TICK;
	pg_atomic_init_u64(&control->written, 0);
	pg_atomic_init_u32(&control->parked, 0);
	pg_atomic_init_u32(&control->stop, 0);
	attach_as(false);
	PG_RETURN_VOID();
}

static const struct
{
	const char *name;
	void		(*info) (WscStoreInfo *info);
	void		(*reset) (TimestampTz now);
}			stores[] =
{
	{"ring", WscRingInfo, WscRingReset},
	{"events", WscEventsInfo, WscEventsReset},
	{"profile", WscProfileInfo, WscProfileReset},
	{"lwlocks", WscLWLocksInfo, WscLWLocksReset},
	{"hot_blocks", WscHotBlocksInfo, WscHotBlocksReset},
};

static int
find_store(text *name)
{
	char	   *wanted = text_to_cstring(name);
	int			i;

	attach_stores();
	for (i = 0; i < (int) lengthof(stores); i++)
	{
		if (strcmp(stores[i].name, wanted) == 0)
			return i;
	}
	elog(ERROR, "no store \"%s\"", wanted);
	return -1;
}

/* store_reset(store text) */
Datum
store_reset(PG_FUNCTION_ARGS)
{
	int			store = find_store(PG_GETARG_TEXT_PP(0));

	stores[store].reset(GetCurrentTimestamp());
	PG_RETURN_VOID();
}

/* reset_ahead(): all stores, with a moment behind that of the next tick */
Datum
reset_ahead(PG_FUNCTION_ARGS)
{
	int			i;

	attach_stores();
	for (i = 0; i < (int) lengthof(stores); i++)
		stores[i].reset(control->next_tick + 1);
	PG_RETURN_VOID();
}

Datum
make_row(FunctionCallInfo fcinfo, Datum *values)
{
	TupleDesc	desc;
	bool		nulls[8] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

Datum
report(FunctionCallInfo fcinfo, const Findings *found)
{
	Datum		values[3];

	values[0] = Int64GetDatum(found->passes);
	values[1] = Int64GetDatum(found->checked);
	values[2] = Int64GetDatum(found->torn);
	return make_row(fcinfo, values);
}

int
check_tick_size(int n)
{
	if (n < 0 || n > TEST_MAX_SAMPLES)
		elog(ERROR, "tick of %d samples", n);
	return n;
}

/*
 * store_info(store text, OUT entries bigint, OUT max_entries bigint,
 * OUT span_ms float8, OUT evictions bigint, OUT overwritten bigint,
 * OUT stats_reset timestamptz)
 */
Datum
store_info(PG_FUNCTION_ARGS)
{
	int			store = find_store(PG_GETARG_TEXT_PP(0));
	WscStoreInfo info;
	Datum		values[6];

	stores[store].info(&info);
	values[0] = Int64GetDatum(info.entries);
	values[1] = Int64GetDatum(info.max_entries);
	values[2] = Float8GetDatum((double) info.span_ns / 1e6);
	values[3] = Int64GetDatum(info.evictions);
	values[4] = Int64GetDatum(info.overwritten);
	values[5] = TimestampTzGetDatum(info.stats_reset);
	return make_row(fcinfo, values);
}

/* written_ticks() bigint: how far the writer is */
Datum
written_ticks(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) pg_atomic_read_u64(&control->written));
}

/* parked_pid() integer: who stopped itself; 0: nobody yet */
Datum
parked_pid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) pg_atomic_read_u32(&control->parked));
}

/* stop_calls(): ends the loops of all backends, until stores_init() */
Datum
stop_calls(PG_FUNCTION_ARGS)
{
	pg_atomic_write_u32(&control->stop, 1);
	PG_RETURN_VOID();
}

/*
 * dict_give(first_code bigint, codes integer, OUT own_ids integer,
 * OUT others integer, OUT wrong integer): gives ids to so many codes in a
 * row, twice.  Wrong are ids that changed or whose code is another.
 */
Datum
dict_give(PG_FUNCTION_ARGS)
{
	uint32		first = (uint32) PG_GETARG_INT64(0);
	int			n = PG_GETARG_INT32(1);
	int			before = WscEventDictCount();
	int			others = 0;
	int			wrong = 0;
	WscEventId *ids = palloc((Size) n * sizeof(WscEventId));
	Datum		values[3];
	int			i;

	for (i = 0; i < n; i++)
		ids[i] = WscEventDictId(first + (uint32) i);
	for (i = 0; i < n; i++)
	{
		uint32		code = first + (uint32) i;

		if (WscEventDictId(code) != ids[i])
			wrong++;
		if (ids[i] == WSC_EVENT_OTHER)
			others++;
		else if (WscEventDictCode(ids[i]) != code)
			wrong++;
	}

	values[0] = Int32GetDatum(WscEventDictCount() - before);
	values[1] = Int32GetDatum(others);
	values[2] = Int32GetDatum(wrong);
	return make_row(fcinfo, values);
}

/* dict_id(code bigint) integer */
Datum
dict_id(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(WscEventDictId((uint32) PG_GETARG_INT64(0)));
}

static text *
format_name(const WscEventName *name)
{
	char		both[2 * WSC_EVENT_NAME_LEN + 2];

	snprintf(both, sizeof(both), "%s/%s", name->type, name->name);
	return cstring_to_text(both);
}

/* dict_name(id integer) text: "type/name" */
Datum
dict_name(PG_FUNCTION_ARGS)
{
	WscEventName name;

	WscEventDictName((WscEventId) PG_GETARG_INT32(0), &name);
	PG_RETURN_TEXT_P(format_name(&name));
}

/* code_name(code bigint) text: "type/name" */
Datum
code_name(PG_FUNCTION_ARGS)
{
	WscEventName name;

	WscEventCodeName((uint32) PG_GETARG_INT64(0), &name);
	PG_RETURN_TEXT_P(format_name(&name));
}

/*
 * new_tranche(name text) bigint: code of waits for a tranche that only this
 * backend knows by name, before 19
 */
Datum
new_tranche(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	/* The server keeps the pointer. */
	name = MemoryContextStrdup(TopMemoryContext, name);

	PG_RETURN_INT64(PG_WAIT_LWLOCK | (uint32) WscNewTranche(name));
}

/* lock_gets(shared boolean) bigint: of the lock on the event names */
Datum
lock_gets(PG_FUNCTION_ARGS)
{
	FmLockMode	mode = PG_GETARG_BOOL(0) ? FMLOCK_SHARED : FMLOCK_EXCLUSIVE;
	LockStatRow row;
	int			i;

	for (i = 0; i < LockStatCount(); i++)
	{
		if (LockStatRead(i, mode, &row) &&
			strcmp(row.name, "pg_waitscope_event_names") == 0)
			PG_RETURN_INT64(row.gets);
	}
	elog(ERROR, "the lock on the event names is not registered");
	PG_RETURN_NULL();
}

/*
 * cut_off_change(): a piece whose writer ended in the middle of a change.
 * Can it be read then, while the successor changes it, and afterwards?
 */
Datum
cut_off_change(PG_FUNCTION_ARGS)
{
	pg_atomic_uint32 changes;
	uint32		before;
	bool		readable[3];

	pg_atomic_init_u32(&changes, 0);
	WscBeginChange(&changes);
	readable[0] = WscBeginRead(&changes, &before);
	WscBeginChange(&changes);
	readable[1] = WscBeginRead(&changes, &before);
	WscEndChange(&changes);
	readable[2] = WscBeginRead(&changes, &before) &&
		WscEndRead(&changes, before);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%d %d %d", readable[0],
											  readable[1], readable[2])));
}
