/*-------------------------------------------------------------------------
 *
 * fmlock_word.h
 *	  The state word of a lock, and one attempt to acquire it.
 *
 * For the files of the lock itself.  The word is changed by atomic operations
 * only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FMLOCK_WORD_H
#define FMLOCK_WORD_H

#include "lock/fmlock.h"
#include "port/atomics/fetch_mask_add.h"
#include "port/lock_compat.h"

/* The state word: bits, ... */
#define FMLOCK_WRITER			((uint32) 1 << 31)
#define FMLOCK_HAS_WAITERS		((uint32) 1 << 30)
#define FMLOCK_RELEASE_OK		((uint32) 1 << 29)
#define FMLOCK_LIST_LOCKED		((uint32) 1 << 28)
#define FMLOCK_WRITER_FIRST		((uint32) 1 << 27)
#define FMLOCK_READERS			(((uint32) 1 << 24) - 1)

/* ... masks made of them, ... */
#define FMLOCK_FLAGS (FMLOCK_HAS_WAITERS | FMLOCK_RELEASE_OK | \
					  FMLOCK_LIST_LOCKED | FMLOCK_WRITER_FIRST)
#define FMLOCK_HELD				(FMLOCK_WRITER | FMLOCK_READERS)
#define FMLOCK_WAKE				(FMLOCK_HAS_WAITERS | FMLOCK_RELEASE_OK)

/* ... and what a mode is: the operands of fetch_mask_add. */
typedef struct FmLockPair
{
	uint32		mask;			/* must be clear */
	uint32		add;
} FmLockPair;

static const FmLockPair fmlock_pairs[FMLOCK_NUM_MODES] =
{
	[FMLOCK_EXCLUSIVE] = {FMLOCK_HELD, FMLOCK_WRITER},
	[FMLOCK_SHARED] = {FMLOCK_WRITER | FMLOCK_WRITER_FIRST, 1},
};

StaticAssertDecl(MAX_BACKENDS < FMLOCK_READERS,
				 "the readers of a lock must fit into its count");
StaticAssertDecl((FMLOCK_READERS & FMLOCK_FLAGS) == 0 &&
				 (FMLOCK_HELD & FMLOCK_FLAGS) == 0,
				 "the fields of the state word must not overlap");

/* An empty list, or an end of it. */
#define FMLOCK_NO_PROC			(-1)

/* Returns the word as it was.  The lock is ours if that lacks the mask. */
static inline uint32
FmLockAttempt(FmLock *lock, const FmLockPair *pair, uint32 *retries)
{
	/*
	 * Acquire order, pairs with the subtraction of FmLockRelease(): what the
	 * last holder wrote is seen, and nothing we do moves before.
	 */
	return wsc_fetch_mask_add_u32_acquire(&lock->state, pair->mask,
										  pair->add, retries);
}

/* Did we get it? */
static inline bool
FmLockTry(FmLock *lock, const FmLockPair *pair, uint32 *retries)
{
	return (FmLockAttempt(lock, pair, retries) & pair->mask) == 0;
}

/* Nobody has it, somebody waits, and no wake is on its way. */
static inline bool
FmLockMustWake(uint32 word)
{
	return unlikely((word & FMLOCK_WAKE) == FMLOCK_WAKE) &&
		(word & FMLOCK_HELD) == 0;
}

#endif							/* FMLOCK_WORD_H */
