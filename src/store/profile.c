/*-------------------------------------------------------------------------
 *
 * profile.c
 *	  Totals per key since reset, in a bounded table.
 *
 * Open addressing with linear probing; a power of two of slots, at most half
 * of them live.  An entry never moves, so a reader walks the slots one by
 * one; a slot is guarded by its change counter (see store.h).  The sampler is
 * the only writer and takes no lock.
 *
 * Removing an entry must not cut the search path of others that lie beyond
 * it.  Each slot counts the live entries whose path from their home slot
 * leads over it ("passed").  A search ends at a slot that nobody's path
 * passes; a removal takes its own path back.  Unlike tombstones this leaves
 * nothing behind, however long entries come and go.
 *
 * A full table makes room by a clock hand: of the next few slots the live
 * entry with the fewest samples goes.  So what is seen often stays, and the
 * work of one insertion is bounded.  Evictions are counted; totals per event
 * are in the events store, which never evicts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/timestamp.h"

#include "store/profile.h"

/*
 * Entries farther than this from their home slot are not stored.  Half full
 * and well mixed, paths are a few slots long; this bounds the worst tick.
 */
#define MAX_PATH 256

/* Slots the hand looks at; further ones only if none of them was live. */
#define HAND_STEPS 16
#define MAX_HAND_STEPS 256

#define DIMENSION_OFF 0xFF		/* backend_type when it is no dimension */

StaticAssertDecl(sizeof(WscProfileKey) == 3 * sizeof(uint64),
				 "keys are compared as three words");

/* One cache line.  Written by the sampler. */
typedef struct ProfileSlot
{
	pg_atomic_uint32 changes;	/* odd while live and entry change */
	uint16		passed;			/* live entries beyond; writer's own */
	bool		live;			/* guarded by changes */
	WscProfileEntry entry;		/* guarded by changes */
} ProfileSlot;

typedef struct ProfileHead
{
	WscGeneration generation;

	/* constant */
	int32		nslots;			/* a power of two */
	int32		max_entries;
	int32		dimensions;		/* WSC_BY_* */

	uint32		hand;			/* writer's own */

	/* written by the sampler */
	pg_atomic_uint32 nentries;
	pg_atomic_uint64 evictions;
} ProfileHead;

typedef struct WscProfile
{
	ProfileHead head;
	/* slots begin a cache line */
	char		pad[PG_CACHE_LINE_SIZE - sizeof(ProfileHead)];
	ProfileSlot slots[FLEXIBLE_ARRAY_MEMBER];
} WscProfile;

StaticAssertDecl(sizeof(ProfileSlot) == 64, "a slot is one cache line");

static WscProfile *profile;

static int
slots_for(int max_entries)
{
	return (int) pg_nextpower2_32((uint32) max_entries * 2);
}

Size
WscProfileSize(int max_entries)
{
	return MAXALIGN(add_size(offsetof(WscProfile, slots),
							 mul_size((Size) slots_for(max_entries),
									  sizeof(ProfileSlot))));
}

void
WscProfileAttach(void *mem, int max_entries, int dimensions, bool found)
{
	int			i;

	profile = mem;
	if (found)
		return;

	memset(profile, 0, WscProfileSize(max_entries));
	WscGenerationInit(&profile->head.generation, GetCurrentTimestamp());
	profile->head.nslots = slots_for(max_entries);
	profile->head.max_entries = max_entries;
	profile->head.dimensions = dimensions;
	pg_atomic_init_u32(&profile->head.nentries, 0);
	pg_atomic_init_u64(&profile->head.evictions, 0);
	for (i = 0; i < profile->head.nslots; i++)
		pg_atomic_init_u32(&profile->slots[i].changes, 0);
}

static void
make_key(const WscSample *sample, WscProfileKey *key)
{
	int			dimensions = profile->head.dimensions;

	memset(key, 0, sizeof(*key));
	/* What a process works at has a query id only where it serves a client. */
	if ((dimensions & WSC_BY_QUERY) && sample->state_class == WSC_FOREGROUND)
		key->queryid = sample->queryid;
	if (dimensions & WSC_BY_DATABASE)
		key->datid = sample->datid;
	if (dimensions & WSC_BY_USER)
		key->usesysid = sample->usesysid;
	if (dimensions & WSC_BY_PID)
		key->pid = sample->pid;
	key->event = sample->event;
	key->backend_type = DIMENSION_OFF;
	if (dimensions & WSC_BY_BACKEND_TYPE)
		key->backend_type = sample->backend_type;
	key->lwlock_mode = sample->lwlock_mode;
}

static inline bool
same_key(const WscProfileKey *a, const WscProfileKey *b)
{
	return memcmp(a, b, sizeof(WscProfileKey)) == 0;
}

/* Home slot.  Multiplications carry upwards, so the top bits are used. */
static inline uint32
home_slot(const WscProfileKey *key)
{
	uint64		words[3];
	uint64		hash;

	memcpy(words, key, sizeof(words));
	hash = words[0] * UINT64CONST(0x9E3779B97F4A7C15);
	hash = (hash ^ (hash >> 32) ^ words[1]) * UINT64CONST(0xBF58476D1CE4E5B9);
	hash = (hash ^ (hash >> 32) ^ words[2]) * UINT64CONST(0x94D049BB133111EB);
	return (uint32) (hash >> 32) & ((uint32) profile->head.nslots - 1);
}

static inline uint32
next_slot(uint32 i)
{
	return (i + 1) & ((uint32) profile->head.nslots - 1);
}

/* The slot with that key, or NULL. */
static ProfileSlot *
find_entry(const WscProfileKey *key, uint32 home)
{
	uint32		i = home;
	int			path;

	for (path = 0; path < MAX_PATH; path++)
	{
		ProfileSlot *slot = &profile->slots[i];

		if (slot->live && same_key(&slot->entry.key, key))
			return slot;
		if (slot->passed == 0)
			break;
		i = next_slot(i);
	}
	return NULL;
}

static void
remove_entry(ProfileSlot *slot)
{
	uint32		last = (uint32) (slot - profile->slots);
	uint32		i;

	for (i = home_slot(&slot->entry.key); i != last; i = next_slot(i))
		profile->slots[i].passed--;
	WscBeginChange(&slot->changes);
	slot->live = false;
	WscEndChange(&slot->changes);
	pg_atomic_write_u32(&profile->head.nentries,
						pg_atomic_read_u32(&profile->head.nentries) - 1);
}

static void
count_eviction(void)
{
	pg_atomic_write_u64(&profile->head.evictions,
						pg_atomic_read_u64(&profile->head.evictions) + 1);
}

/* Moves the clock hand on to evict one entry.  False: it met none. */
static bool
evict_entry(void)
{
	ProfileSlot *victim = NULL;
	int			steps;

	for (steps = 0; steps < MAX_HAND_STEPS; steps++)
	{
		ProfileSlot *slot = &profile->slots[profile->head.hand];

		if (steps >= HAND_STEPS && victim != NULL)
			break;
		if (slot->live && (victim == NULL ||
						   slot->entry.samples < victim->entry.samples))
			victim = slot;
		profile->head.hand = next_slot(profile->head.hand);
	}
	if (victim == NULL)
		return false;
	remove_entry(victim);
	count_eviction();
	return true;
}

/* The first free slot on the path of a key, or NULL if it is too far. */
static ProfileSlot *
find_free(uint32 home)
{
	uint32		i = home;
	int			path;

	for (path = 0; path < MAX_PATH; path++)
	{
		if (!profile->slots[i].live)
			return &profile->slots[i];
		i = next_slot(i);
	}
	return NULL;
}

/* Adds an entry, with nothing counted yet.  NULL: no room was found. */
static ProfileSlot *
insert_entry(const WscProfileKey *key, uint32 home, TimestampTz now)
{
	ProfileSlot *slot;
	uint32		last;
	uint32		i;

	if ((int) pg_atomic_read_u32(&profile->head.nentries) >=
		profile->head.max_entries && !evict_entry())
		return NULL;
	slot = find_free(home);
	if (slot == NULL)
		return NULL;

	last = (uint32) (slot - profile->slots);
	for (i = home; i != last; i = next_slot(i))
		profile->slots[i].passed++;
	WscBeginChange(&slot->changes);
	slot->live = true;
	slot->entry.key = *key;
	slot->entry.samples = 0;
	slot->entry.time_ns = 0;
	slot->entry.first_seen = now;
	slot->entry.last_seen = now;
	WscEndChange(&slot->changes);
	pg_atomic_write_u32(&profile->head.nentries,
						pg_atomic_read_u32(&profile->head.nentries) + 1);
	return slot;
}

static void
adopt_reset(void)
{
	uint64		wanted;
	int			i;

	if (!WscGenerationStale(&profile->head.generation, &wanted))
		return;
	for (i = 0; i < profile->head.nslots; i++)
	{
		ProfileSlot *slot = &profile->slots[i];

		slot->passed = 0;
		if (!slot->live)
			continue;
		WscBeginChange(&slot->changes);
		slot->live = false;
		WscEndChange(&slot->changes);
	}
	pg_atomic_write_u32(&profile->head.nentries, 0);
	pg_atomic_write_u64(&profile->head.evictions, 0);
	WscGenerationAdopt(&profile->head.generation, wanted);
}

void
WscProfileAdd(const WscTick *tick, const WscSample *samples, int n)
{
	int			i;

	adopt_reset();
	for (i = 0; i < n; i++)
	{
		const WscSample *sample = &samples[i];
		WscProfileKey key;
		ProfileSlot *slot;
		uint32		home;

		if (sample->state_class != WSC_FOREGROUND &&
			sample->state_class != WSC_BACKGROUND)
			continue;

		make_key(sample, &key);
		home = home_slot(&key);
		slot = find_entry(&key, home);
		if (slot == NULL)
			slot = insert_entry(&key, home, tick->sampled_at);
		if (slot == NULL)
		{
			count_eviction();	/* of the newcomer */
			continue;
		}
		WscBeginChange(&slot->changes);
		slot->entry.samples++;
		slot->entry.time_ns += tick->weight_ns;
		slot->entry.last_seen = tick->sampled_at;
		WscEndChange(&slot->changes);
	}
}

int
WscProfileDimensions(void)
{
	return profile->head.dimensions;
}

int
WscProfileSlots(void)
{
	return profile->head.nslots;
}

bool
WscProfileRead(int slot, WscProfileEntry *entry)
{
	ProfileSlot *from = &profile->slots[slot];
	int			tries;

	for (tries = 0; tries < WSC_READ_TRIES; tries++)
	{
		uint32		before;
		bool		live;

		if (!WscGenerationValid(&profile->head.generation))
			return false;
		if (!WscBeginRead(&from->changes, &before))
			continue;
		live = from->live;
		*entry = from->entry;
		if (!WscEndRead(&from->changes, before))
			continue;
		return live && WscGenerationValid(&profile->head.generation);
	}
	return false;
}

void
WscProfileReset(TimestampTz now)
{
	WscGenerationReset(&profile->head.generation, now);
}

void
WscProfileInfo(WscStoreInfo *info)
{
	bool		valid = WscGenerationValid(&profile->head.generation);

	info->entries = 0;
	info->max_entries = profile->head.max_entries;
	info->span_ns = -1;
	info->evictions = 0;
	info->overwritten = -1;
	info->stats_reset = (TimestampTz)
		pg_atomic_read_u64(&profile->head.generation.reset_at);
	if (valid)
	{
		info->entries = (int64) pg_atomic_read_u32(&profile->head.nentries);
		info->evictions = (int64) pg_atomic_read_u64(&profile->head.evictions);
	}
}
