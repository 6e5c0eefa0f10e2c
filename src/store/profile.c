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
 * A full table makes room by a clock hand: of the next slots the entry with
 * the fewest samples goes, to the power of two.  So what is seen often stays,
 * however many keys are seen once.  In one of some turns the hand lowers what
 * it passes by one rank, and an entry seen again has its full rank back: what
 * was seen often but is no longer gives way in the end.  The ranks that this
 * takes are bytes in an array of their own, of which the hand looks at one
 * cache line, and at a few more if that has no entry of the lowest rank.
 * (The least of the 5 or so entries in 16 slots was tried: a flood of new
 * keys had swept out all others before long.)  Evictions are counted; totals
 * per event are in the events store, which never evicts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "store/profile.h"

/*
 * Entries farther than this from their home slot are not stored.  Half full
 * and well mixed, paths are a few slots long; this bounds the worst tick.
 */
#define MAX_PATH 256

#define HAND_SLOTS 64			/* ranks in a cache line */
#define HAND_LINES 8			/* looked at for one eviction */
#define HAND_TURNS 16			/* one of so many lowers ranks */

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
	uint32		turns;			/* of the hand; writer's own */

	/* written by the sampler */
	pg_atomic_uint32 nentries;
	pg_atomic_uint64 evictions;

	pg_atomic_uint64 skipped;	/* readers add: slots they could not get */
} ProfileHead;

typedef struct WscProfile
{
	ProfileHead head;
	/* slots begin a cache line */
	char		pad[PG_CACHE_LINE_SIZE - sizeof(ProfileHead)];
	ProfileSlot slots[FLEXIBLE_ARRAY_MEMBER];	/* then a rank for each */
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
									  sizeof(ProfileSlot) + 1)));
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
	pg_atomic_init_u64(&profile->head.skipped, 0);
	for (i = 0; i < profile->head.nslots; i++)
		pg_atomic_init_u32(&profile->slots[i].changes, 0);
}

/*
 * The rank of a slot: 0 when it is free, else 1 + log2(samples), rounded down,
 * less what the hand has taken since the last of them.  Writer's own.
 */
static inline uint8 *
rank_of(uint32 slot)
{
	return (uint8 *) &profile->slots[profile->head.nslots] + slot;
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
remove_entry(uint32 last)
{
	ProfileSlot *slot = &profile->slots[last];
	uint32		i;

	for (i = home_slot(&slot->entry.key); i != last; i = next_slot(i))
		profile->slots[i].passed--;
	WscBeginChange(&slot->changes);
	slot->live = false;
	WscEndChange(&slot->changes);
	*rank_of(last) = 0;
	pg_atomic_write_u32(&profile->head.nentries,
						pg_atomic_read_u32(&profile->head.nentries) - 1);
}

static void
count_eviction(void)
{
	pg_atomic_write_u64(&profile->head.evictions,
						pg_atomic_read_u64(&profile->head.evictions) + 1);
}

/* Moves the clock hand on to evict one entry; there must be one. */
static void
evict_entry(void)
{
	uint32		nslots = (uint32) profile->head.nslots;
	uint32		line_slots = Min(HAND_SLOTS, nslots);
	uint32		victim = 0;
	uint8		least = PG_UINT8_MAX;	/* rank - 1: beyond all when free */
	int			lines;

	for (lines = 0; lines < HAND_LINES || least == PG_UINT8_MAX; lines++)
	{
		uint32		first = profile->head.hand;
		bool		lower = profile->head.turns % HAND_TURNS == 0;
		uint32		i;

		for (i = first; i < first + line_slots; i++)
		{
			uint8		rank = (uint8) (*rank_of(i) - 1);

			if (rank < least)
			{
				least = rank;
				victim = i;
			}
			if (lower && *rank_of(i) > 1)
				(*rank_of(i))--;
		}
		profile->head.hand = (first + line_slots) & (nslots - 1);
		if (profile->head.hand == 0)
			profile->head.turns++;
		if (least == 0)
			break;
	}
	remove_entry(victim);
	count_eviction();
}

/* The first free slot on the path of a key; false if it is too far. */
static bool
find_free(uint32 home, uint32 *found)
{
	uint32		i = home;
	int			path;

	for (path = 0; path < MAX_PATH; path++)
	{
		if (!profile->slots[i].live)
		{
			*found = i;
			return true;
		}
		i = next_slot(i);
	}
	return false;
}

/* Adds an entry with one sample, if there is a place for it. */
static void
insert_entry(const WscProfileKey *key, uint32 home, const WscTick *tick)
{
	ProfileSlot *slot;
	uint32		last;
	uint32		i;

	if ((int) pg_atomic_read_u32(&profile->head.nentries) >=
		profile->head.max_entries)
		evict_entry();
	if (!find_free(home, &last))
	{
		count_eviction();		/* of the newcomer */
		return;
	}

	for (i = home; i != last; i = next_slot(i))
		profile->slots[i].passed++;
	slot = &profile->slots[last];
	WscBeginChange(&slot->changes);
	slot->live = true;
	slot->entry.key = *key;
	slot->entry.samples = 1;
	slot->entry.time_ns = tick->weight_ns;
	slot->entry.first_seen = tick->sampled_at;
	slot->entry.last_seen = tick->sampled_at;
	WscEndChange(&slot->changes);
	*rank_of(last) = 1;
	pg_atomic_write_u32(&profile->head.nentries,
						pg_atomic_read_u32(&profile->head.nentries) + 1);
}

static void
count_sample(ProfileSlot *slot, const WscTick *tick)
{
	int64		samples = slot->entry.samples + 1;

	WscBeginChange(&slot->changes);
	slot->entry.samples = samples;
	slot->entry.time_ns += tick->weight_ns;
	slot->entry.last_seen = tick->sampled_at;
	WscEndChange(&slot->changes);

	*rank_of((uint32) (slot - profile->slots)) =
		(uint8) (pg_leftmost_one_pos64((uint64) samples) + 1);
}

/* False: the tick is from before a reset. */
static bool
adopt_reset(const WscTick *tick)
{
	uint64		wanted;
	int			i;

	if (!WscGenerationStale(&profile->head.generation, &wanted))
		return true;
	for (i = 0; i < profile->head.nslots; i++)
	{
		ProfileSlot *slot = &profile->slots[i];

		slot->passed = 0;
		*rank_of((uint32) i) = 0;
		if (!slot->live)
			continue;
		WscBeginChange(&slot->changes);
		slot->live = false;
		WscEndChange(&slot->changes);
	}
	pg_atomic_write_u32(&profile->head.nentries, 0);
	pg_atomic_write_u64(&profile->head.evictions, 0);
	return WscGenerationAdopt(&profile->head.generation, wanted,
							  tick->sampled_at);
}

void
WscProfileAdd(const WscTick *tick, const WscSample *samples, int n)
{
	int			i;

	if (!adopt_reset(tick))
		return;
	for (i = 0; i < n; i++)
	{
		const WscSample *sample = &samples[i];
		WscProfileKey key;
		ProfileSlot *slot;
		uint32		home;

		if (!WscIsCounted(sample))
			continue;

		make_key(sample, &key);
		home = home_slot(&key);
		slot = find_entry(&key, home);
		if (slot != NULL)
			count_sample(slot, tick);
		else
			insert_entry(&key, home, tick);
	}
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
	int			tries = 0;

	do
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
	} while (WscReadAgain(&tries));
	pg_atomic_fetch_add_u64(&profile->head.skipped, 1);
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
	info->overwritten = (int64) pg_atomic_read_u64(&profile->head.skipped);
	info->stats_reset = WscGenerationTime(&profile->head.generation);
	if (valid)
	{
		info->entries = (int64) pg_atomic_read_u32(&profile->head.nentries);
		info->evictions = (int64) pg_atomic_read_u64(&profile->head.evictions);
	}
}
