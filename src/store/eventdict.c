/*-------------------------------------------------------------------------
 *
 * eventdict.c
 *	  Event dictionary: small id <-> code of the server <-> name.
 *
 * Two halves.  Codes are the sampler's: it alone gives ids, without a lock,
 * by appending to an array that never shrinks and entering the position in a
 * hash index.  Names are everybody's: any process that knows one may teach
 * it, under an FmLock; looking one up takes the lock in shared mode.  Which
 * names exist in which process differs: before 19 an LWLock tranche has its
 * name only where it was registered.
 *
 * Giving an id (sampler):
 * 1. write the code into the next entry; write barrier
 * 2. publish the number of entries; write barrier
 * 3. enter the id into the index
 * Others read the number, then a read barrier, then entries below it.
 *
 * The server's lookup of a name may raise an error (a custom event unknown to
 * it, from 17 on) and may take LWLocks, so it is never called while the
 * FmLock is held: look up, lock, copy, unlock.  The first name taught stays.
 *
 * The dictionary holds no counters and is never reset.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/eventdict.h"
#include "lock/fmlock.h"
#include "lock/lockstat.h"
#include "port/wait_events.h"

/* At most a quarter full, so that a search ends after a step or two. */
#define INDEX_SLOTS (4 * WSC_MAX_EVENTS)
#define INDEX_FREE 0			/* id of CPU, which has no code */

#define WAIT_EVENT_MASK 0x0000FFFF

typedef struct WscEventDict
{
	FmLockPadded lock;			/* guards known[] and names[] */

	/*
	 * Ids whose name is known in some processes only, and not here yet: the
	 * sampler adds, who teaches the name subtracts.
	 */
	pg_atomic_uint32 num_unnamed;

	/* written by the sampler, which publishes count last */
	pg_atomic_uint32 count;		/* ids given, including the fixed two */
	uint32		codes[WSC_MAX_EVENTS];
	uint16		index[INDEX_SLOTS]; /* hash of code -> id; single stores */

	/* written by any process holding the lock exclusively */
	bool		known[WSC_MAX_EVENTS];
	WscEventName names[WSC_MAX_EVENTS];
} WscEventDict;

static WscEventDict *dict;

Size
WscEventDictSize(void)
{
	return MAXALIGN(sizeof(WscEventDict));
}

void
WscEventDictAttach(void *mem, bool found)
{
	dict = mem;
	if (found)
		return;

	memset(dict, 0, sizeof(*dict));
	FmLockInit(&dict->lock.lock, "pg_waitscope_event_names");
	pg_atomic_init_u32(&dict->num_unnamed, 0);
	pg_atomic_init_u32(&dict->count, WSC_EVENT_OTHER + 1);
}

/* Codes differ in the top and in the low bits: multiply and take the top. */
static inline uint32
hash_code(uint32 code)
{
	return (code * (uint32) 0x9E3779B1) >> (32 - 12);
}

StaticAssertDecl(INDEX_SLOTS == 1 << 12, "hash_code() yields index slots");

/*
 * Id of a code, or INDEX_FREE with the place where it belongs.  Any process:
 * an id seen in the index was published before it was entered there.
 */
static WscEventId
find_code(uint32 code, uint32 *place)
{
	uint32		i = hash_code(code);

	for (;;)
	{
		WscEventId	id = ((volatile uint16 *) dict->index)[i];

		/* Id before its code; pairs with the barrier after the count. */
		pg_read_barrier();
		if (id == INDEX_FREE || dict->codes[id] == code)
		{
			*place = i;
			return id;
		}
		i = (i + 1) % INDEX_SLOTS;
	}
}

WscEventId
WscEventDictId(uint32 code)
{
	uint32		place;
	uint32		count;
	WscEventId	id;

	if (code == 0)
		return WSC_EVENT_CPU;

	id = find_code(code, &place);
	if (id != INDEX_FREE)
		return id;

	count = pg_atomic_read_u32(&dict->count);
	if (count == WSC_MAX_EVENTS)
		return WSC_EVENT_OTHER;

	if (WscWaitNameIsPrivate(code))
		pg_atomic_fetch_add_u32(&dict->num_unnamed, 1);
	/* 1. */
	dict->codes[count] = code;
	pg_write_barrier();			/* pairs with WscEventDictCount() */
	/* 2. */
	pg_atomic_write_u32(&dict->count, count + 1);
	pg_write_barrier();			/* pairs with find_code() */
	/* 3. */
	dict->index[place] = (uint16) count;
	return (WscEventId) count;
}

int
WscEventDictCount(void)
{
	uint32		count = pg_atomic_read_u32(&dict->count);

	/* Count before entries below it; pairs with WscEventDictId(). */
	pg_read_barrier();
	return (int) count;
}

uint32
WscEventDictCode(WscEventId id)
{
	if (id >= WscEventDictCount())
		return 0;
	return dict->codes[id];		/* 0 for the fixed two */
}

static void
set_name(WscEventName *name, const char *type, const char *event)
{
	memset(name, 0, sizeof(*name));
	strlcpy(name->type, type, sizeof(name->type));
	strlcpy(name->name, event, sizeof(name->name));
}

/*
 * The server's lookup.  NULL if it raised the error with which it meets a
 * code it does not know; other errors go on to the caller.
 */
static const char *
look_up_event(uint32 code)
{
	MemoryContext context = CurrentMemoryContext;
	uint32		holdoff = InterruptHoldoffCount;
	uint32		cancel_holdoff = QueryCancelHoldoffCount;
	const char *volatile event = NULL;

	PG_TRY();
	{
		event = pgstat_get_wait_event(code);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_INTERNAL_ERROR)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		/* Raising an error set both to 0; ours is not recovery by abort. */
		InterruptHoldoffCount = holdoff;
		QueryCancelHoldoffCount = cancel_holdoff;
	}
	PG_END_TRY();

	return event;
}

/* What this process alone can say about a code.  False: only a stand-in. */
static bool
name_locally(uint32 code, WscEventName *name)
{
	const char *type = pgstat_get_wait_event_type(code);
	const char *event = look_up_event(code);
	char		stand_in[WSC_EVENT_NAME_LEN];

	if (type == NULL || strcmp(type, "???") == 0)
	{
		type = "Unknown";
		event = NULL;
	}

	/*
	 * The server's word for a tranche that this process did not register.
	 * Those of our own kind of locks are known wherever they were registered.
	 */
	if (WSC_WAIT_CLASS(code) == PG_WAIT_LWLOCK && event != NULL &&
		strcmp(event, "extension") == 0)
	{
		char		lock_name[NAMEDATALEN];

		if (LockStatNameOfEvent(code, lock_name))
		{
			set_name(name, type, lock_name);
			return true;
		}
		snprintf(stand_in, sizeof(stand_in), "extension:%u",
				 code & WAIT_EVENT_MASK);
		set_name(name, type, stand_in);
		return false;
	}
	if (event == NULL || strcmp(event, "???") == 0 ||
		strcmp(event, "unknown wait event") == 0)
	{
		snprintf(stand_in, sizeof(stand_in), "unknown:%08x", code);
		set_name(name, type, stand_in);
		return false;
	}

	set_name(name, type, event);
	return true;
}

void
WscEventDictName(WscEventId id, WscEventName *name)
{
	bool		known;

	if (id == WSC_EVENT_CPU)
	{
		set_name(name, "CPU", "CPU");
		return;
	}
	if (id == WSC_EVENT_OTHER || id >= WscEventDictCount())
	{
		set_name(name, "Other", "other");
		return;
	}

	FmLockAcquire(&dict->lock.lock, FMLOCK_SHARED);
	known = dict->known[id];
	if (known)
		*name = dict->names[id];
	FmLockRelease(&dict->lock.lock);
	if (known || !name_locally(dict->codes[id], name))
		return;

	FmLockAcquire(&dict->lock.lock, FMLOCK_EXCLUSIVE);
	if (dict->known[id])
		*name = dict->names[id];	/* somebody was faster */
	else
	{
		dict->names[id] = *name;
		dict->known[id] = true;
		if (WscWaitNameIsPrivate(dict->codes[id]))
			pg_atomic_fetch_sub_u32(&dict->num_unnamed, 1);
	}
	FmLockRelease(&dict->lock.lock);
}

bool
WscEventDictWantsNames(void)
{
	return dict != NULL && pg_atomic_read_u32(&dict->num_unnamed) > 0;
}

/* Looks at known[] without the lock: a name that is there is only in time. */
void
WscEventDictTeach(void)
{
	int			count = WscEventDictCount();

	for (int id = WSC_EVENT_OTHER + 1; id < count; id++)
	{
		WscEventName name;

		if (WscWaitNameIsPrivate(dict->codes[id]) && !dict->known[id])
			WscEventDictName((WscEventId) id, &name);
	}
}

void
WscEventCodeName(uint32 code, WscEventName *name)
{
	WscEventId	id = INDEX_FREE;
	uint32		place;

	if (code == 0)
	{
		set_name(name, "CPU", "CPU");
		return;
	}
	if (dict != NULL)
		id = find_code(code, &place);
	if (id != INDEX_FREE)
		WscEventDictName(id, name);
	else
		(void) name_locally(code, name);
}
