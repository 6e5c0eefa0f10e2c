/*-------------------------------------------------------------------------
 *
 * ring.c
 *	  The last N samples, with the tick each belongs to.
 *
 * An array of records of one size, written round and round by the sampler.
 * Each tick that has samples is a header record followed by its samples.
 * Positions count records since the ring was made and never wrap (64 bits);
 * record p lies in slot p modulo the number of slots.
 *
 * Writer:	1. reserve = end of the tick to come; write barrier
 *			2. write the records
 *			3. write barrier; commit = the same end
 * Reader:	1. read commit; read barrier
 *			2. copy records before it into private memory
 *			3. read barrier; read reserve
 *			4. drop what lies before reserve - slots: it may be overwritten
 *
 * A copied record that holds any byte of a newer one lies before reserve -
 * slots by step 3, since the writer did 1 before 2.  So the writer never
 * waits and never looks at readers; a reader may stop for good anywhere.
 *
 * A reader that lost records no longer knows the tick of what follows and
 * skips to the next header.  What it lost is counted in shared memory.
 *
 * Reset moves the base, the position before which nothing is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "store/ring.h"

/* Marks a header where a sample has its pid. */
#define HEADER_MARK (-1)

/* Records copied at once; a few microseconds of copying. */
#define CHUNK_RECORDS 256

/* How far from the end the search for a moment begins. */
#define FIRST_STEP UINT64CONST(4096)

typedef struct RingHeader
{
	TimestampTz sampled_at;
	int32		mark;			/* HEADER_MARK */
	int64		mono_ns;
	int64		weight_ns;
} RingHeader;

typedef union RingRecord
{
	WscSample	sample;
	RingHeader	header;
} RingRecord;

StaticAssertDecl(sizeof(RingRecord) == 48, "a record is 48 bytes");
StaticAssertDecl(offsetof(RingHeader, mark) == offsetof(WscSample, pid),
				 "the mark is where the pid is");

typedef struct WscRing
{
	WscGeneration generation;
	int64		slots;			/* constant */

	/* written by the sampler */
	pg_atomic_uint64 base;		/* nothing before it is read */
	pg_atomic_uint64 reserve;	/* records before it may be being written */
	pg_atomic_uint64 commit;	/* records before it are written */
	pg_atomic_uint64 newest_ns; /* mono_ns of the newest tick */

	/* readers add; the sampler sets it to 0 at a reset */
	pg_atomic_uint64 overwritten;

	/* written by the sampler, guarded by the positions */
	RingRecord	records[FLEXIBLE_ARRAY_MEMBER];
} WscRing;

struct WscRingReader
{
	uint64		wanted;			/* generation this reader began in */
	uint64		next;			/* position of the next record to copy */
	uint64		end;			/* commit at the beginning */
	bool		lost;			/* records were lost since the last header */
	bool		in_tick;		/* header is that of the next sample */
	RingHeader	header;
	int			nrecords;		/* in the buffer */
	int			current;		/* next of them to be returned */
	RingRecord	records[CHUNK_RECORDS];
};

static WscRing *ring;

Size
WscRingSize(int64 slots)
{
	return MAXALIGN(add_size(offsetof(WscRing, records),
							 mul_size((Size) slots, sizeof(RingRecord))));
}

void
WscRingAttach(void *mem, int64 slots, bool found)
{
	ring = mem;
	if (found)
		return;

	WscGenerationInit(&ring->generation, GetCurrentTimestamp());
	ring->slots = slots;
	pg_atomic_init_u64(&ring->base, 0);
	pg_atomic_init_u64(&ring->reserve, 0);
	pg_atomic_init_u64(&ring->commit, 0);
	pg_atomic_init_u64(&ring->newest_ns, 0);
	pg_atomic_init_u64(&ring->overwritten, 0);
}

/* False: the tick is from before a reset. */
static bool
adopt_reset(const WscTick *tick)
{
	uint64		wanted;

	if (!WscGenerationStale(&ring->generation, &wanted))
		return true;
	pg_atomic_write_u64(&ring->base, pg_atomic_read_u64(&ring->commit));
	pg_atomic_write_u64(&ring->overwritten, 0);
	return WscGenerationAdopt(&ring->generation, wanted, tick->sampled_at);
}

void
WscRingAdd(const WscTick *tick, const WscSample *samples, int n)
{
	uint64		end;
	int64		slot;
	int			i;
	RingHeader *header;

	if (!adopt_reset(tick))
		return;

	/* A tick without samples has nothing to say; room is for those with. */
	if (n == 0)
		return;

	/*
	 * A tick beyond half the ring is cut, so that readers can keep up with
	 * the writer at all.  Sizes are chosen so that it does not happen.
	 */
	if (n > ring->slots / 2 - 1)
	{
		int			kept = (int) Max(ring->slots / 2 - 1, 0);

		pg_atomic_fetch_add_u64(&ring->overwritten, n - kept);
		n = kept;
	}

	/* 1. */
	end = pg_atomic_read_u64(&ring->commit);
	slot = (int64) (end % (uint64) ring->slots);
	end += (uint64) n + 1;
	pg_atomic_write_u64(&ring->reserve, end);
	pg_write_barrier();			/* reserve before records; pairs with
								 * copy_chunk() step 3 */

	/* 2. */
	header = &ring->records[slot].header;
	header->sampled_at = tick->sampled_at;
	header->mark = HEADER_MARK;
	header->mono_ns = tick->mono_ns;
	header->weight_ns = tick->weight_ns;
	for (i = 0; i < n; i++)
	{
		if (++slot == ring->slots)
			slot = 0;
		ring->records[slot].sample = samples[i];
	}

	/* 3. */
	pg_write_barrier();			/* records before commit; pairs with
								 * WscRingOpen() */
	pg_atomic_write_u64(&ring->commit, end);
	pg_atomic_write_u64(&ring->newest_ns, (uint64) tick->mono_ns);
}

/* Is what this reader reads still wanted? */
static bool
reader_valid(WscRingReader *reader)
{
	return pg_atomic_read_u64(&ring->generation.wanted) == reader->wanted &&
		pg_atomic_read_u64(&ring->generation.adopted) == reader->wanted;
}

WscRingReader *
WscRingOpen(void)
{
	WscRingReader *reader = palloc(sizeof(WscRingReader));
	uint64		slots = (uint64) ring->slots;
	bool		valid;

	reader->wanted = pg_atomic_read_u64(&ring->generation.wanted);
	reader->lost = false;
	reader->in_tick = false;
	reader->nrecords = 0;
	reader->current = 0;

	/*
	 * A base read before the reset was adopted is one too old, and the look
	 * at the generation in copy_chunk() would come too late to tell.
	 */
	valid = reader_valid(reader);
	pg_read_barrier();			/* generation before base; pairs with
								 * WscGenerationAdopt() */
	reader->next = pg_atomic_read_u64(&ring->base);
	/* 1. */
	reader->end = pg_atomic_read_u64(&ring->commit);
	pg_read_barrier();			/* commit before records; pairs with
								 * WscRingAdd() step 3 */
	if (!valid)
		reader->end = reader->next;
	else if (reader->end > slots)
		reader->next = Max(reader->next, reader->end - slots);
	return reader;
}

static void
count_lost(uint64 n)
{
	if (n > 0)
		pg_atomic_fetch_add_u64(&ring->overwritten, (int64) n);
}

/*
 * Steps 2 to 4 for the next records before the reader's end.  False: there
 * are none left.
 */
static bool
copy_chunk(WscRingReader *reader)
{
	uint64		slots = (uint64) ring->slots;

	while (reader->next < reader->end)
	{
		uint64		slot = reader->next % slots;
		uint64		n = Min(reader->end - reader->next, CHUNK_RECORDS);
		uint64		first = Min(n, slots - slot);
		uint64		reserve;
		uint64		dropped = 0;

		/* 2. */
		memcpy(reader->records, &ring->records[slot],
			   first * sizeof(RingRecord));
		memcpy(reader->records + first, ring->records,
			   (n - first) * sizeof(RingRecord));

		/* 3. */
		pg_read_barrier();		/* records before reserve; pairs with
								 * WscRingAdd() step 1 */
		reserve = pg_atomic_read_u64(&ring->reserve);
		if (!reader_valid(reader))
			break;				/* reset meanwhile */

		/* 4. */
		if (reserve > reader->next + slots)
			dropped = reserve - slots - reader->next;
		if (dropped > 0)
		{
			reader->in_tick = false;
			reader->lost = true;
		}
		if (dropped >= n)
		{
			/* All of them; go on at the oldest there is by now. */
			dropped = Min(dropped, reader->end - reader->next);
			count_lost(dropped);
			reader->next += dropped;
			continue;
		}
		count_lost(dropped);

		reader->current = (int) dropped;
		reader->nrecords = (int) n;
		reader->next += n;
		return true;
	}

	reader->next = reader->end;
	return false;
}

bool
WscRingNext(WscRingReader *reader, WscSample *sample,
			TimestampTz *sampled_at, int64 *weight_ns)
{
	for (;;)
	{
		RingRecord *record;

		if (reader->current == reader->nrecords && !copy_chunk(reader))
			return false;

		record = &reader->records[reader->current++];
		if (record->header.mark == HEADER_MARK)
		{
			reader->header = record->header;
			reader->in_tick = true;
			reader->lost = false;
		}
		else if (reader->in_tick)
		{
			*sample = record->sample;
			*sampled_at = reader->header.sampled_at;
			*weight_ns = reader->header.weight_ns;
			return true;
		}
		else if (reader->lost)
			count_lost(1);		/* its header was lost, not just too old */
	}
}

/* Goes on with the first whole tick behind a position. */
static void
move_to(WscRingReader *reader, uint64 position)
{
	reader->next = position;
	reader->current = 0;
	reader->nrecords = 0;
	reader->in_tick = false;
	reader->lost = false;
}

/*
 * Ticks are of any length, so they cannot be counted back: steps from the
 * end that grow until one begins early enough.
 */
void
WscRingSkipTo(WscRingReader *reader, TimestampTz since)
{
	uint64		oldest = reader->next;
	uint64		step = FIRST_STEP;

	for (; reader->end - oldest > step; step *= 4)
	{
		WscSample	sample;
		TimestampTz sampled_at;
		int64		weight_ns;
		bool		found;

		move_to(reader, reader->end - step);
		found = WscRingNext(reader, &sample, &sampled_at, &weight_ns);
		if (!found || sampled_at < since)
		{
			move_to(reader, reader->end - step);
			return;
		}
	}
	move_to(reader, oldest);
}

void
WscRingReset(TimestampTz now)
{
	WscGenerationReset(&ring->generation, now);
}

/* When the oldest tick that can still be read was; false: there is none. */
static bool
find_oldest(int64 *mono_ns)
{
	WscRingReader *reader = WscRingOpen();
	WscSample	sample;
	TimestampTz sampled_at;
	int64		weight_ns;
	bool		found;

	/* The very oldest may be overwritten now, which is no reader's loss. */
	if (reader->end - reader->next > FIRST_STEP)
		move_to(reader, reader->next + CHUNK_RECORDS);
	found = WscRingNext(reader, &sample, &sampled_at, &weight_ns);
	if (found)
		*mono_ns = reader->header.mono_ns;
	pfree(reader);
	return found;
}

void
WscRingInfo(WscStoreInfo *info)
{
	uint64		base = pg_atomic_read_u64(&ring->base);
	uint64		commit = pg_atomic_read_u64(&ring->commit);
	int64		oldest_ns;

	info->entries = Min((int64) (commit - base), ring->slots);
	info->max_entries = ring->slots;
	info->span_ns = 0;
	info->evictions = -1;
	info->overwritten = (int64) pg_atomic_read_u64(&ring->overwritten);
	info->stats_reset = WscGenerationTime(&ring->generation);

	if (!WscGenerationValid(&ring->generation))
	{
		info->entries = 0;
		info->overwritten = 0;
	}
	else if (info->entries > 0 && find_oldest(&oldest_ns))
		info->span_ns = (int64) pg_atomic_read_u64(&ring->newest_ns) -
			oldest_ns;
}
