/*-------------------------------------------------------------------------
 *
 * profile.h
 *	  Totals per key since reset, in a bounded table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_PROFILE_H
#define WSC_PROFILE_H

#include "sample/sample.h"
#include "store/store.h"

/* Dimensions of the key besides the event and the LWLock mode. */
#define WSC_BY_BACKEND_TYPE 0x01
#define WSC_BY_DATABASE 0x02
#define WSC_BY_USER 0x04
#define WSC_BY_QUERY 0x08
#define WSC_BY_PID 0x10

typedef struct WscProfileKey
{
	int64		queryid;
	Oid			datid;
	Oid			usesysid;
	int32		pid;
	WscEventId	event;
	uint8		backend_type;	/* 0xFF: dimension off */
	uint8		lwlock_mode;	/* WscLWLockMode */
} WscProfileKey;

typedef struct WscProfileEntry
{
	WscProfileKey key;
	int64		samples;
	int64		time_ns;
	TimestampTz first_seen;
	TimestampTz last_seen;
} WscProfileEntry;

extern Size WscProfileSize(int max_entries);
extern void WscProfileAttach(void *mem, int max_entries, int dimensions,
							 bool found);

/* Sampler only, never waits.  Foreground and background work only. */
extern void WscProfileAdd(const WscTick *tick, const WscSample *samples,
						  int n);

/*
 * Any process: number of slots, and the entry in one of them.  False if the
 * slot is empty or could not be read consistently in a few tries.
 */
extern int	WscProfileSlots(void);
extern bool WscProfileRead(int slot, WscProfileEntry *entry);

extern void WscProfileReset(TimestampTz now);
extern void WscProfileInfo(WscStoreInfo *info);

#endif							/* WSC_PROFILE_H */
