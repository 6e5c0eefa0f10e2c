/*-------------------------------------------------------------------------
 *
 * eventdict.h
 *	  Event dictionary: small id <-> code of the server <-> name.
 *
 * The sampler gives ids to codes as it meets them and never waits.  Names
 * are filled in by whoever reads them first and knows them, under an FmLock:
 * before 19 only processes that registered an LWLock tranche know its name.
 * An id, once given, keeps its code until the server ends; two codes never
 * share an id, except that all codes that no longer fitted share
 * WSC_EVENT_OTHER.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_EVENTDICT_H
#define WSC_EVENTDICT_H

#include "sample/sample.h"

#define WSC_EVENT_NAME_LEN 64

typedef struct WscEventName
{
	char		type[WSC_EVENT_NAME_LEN];
	char		name[WSC_EVENT_NAME_LEN];
} WscEventName;

extern Size WscEventDictSize(void);
extern void WscEventDictAttach(void *mem, bool found);

/* Sampler only.  Gives the code an id if it has none. */
extern WscEventId WscEventDictId(uint32 code);

/* Number of ids given, including CPU and other. */
extern int	WscEventDictCount(void);

/* Code of a given id; 0 for CPU, other and ids never given. */
extern uint32 WscEventDictCode(WscEventId id);

/*
 * Name of an id, learned now if this process knows it and nobody did before.
 * Unknown ones read "extension:<tranche>" (LWLock) or "unknown:<hex>".
 */
extern void WscEventDictName(WscEventId id, WscEventName *name);

/*
 * Any process.  Were waits seen for a tranche whose name only some processes
 * know, and none has told yet?  And tells those that this one knows.
 */
extern bool WscEventDictWantsNames(void);
extern void WscEventDictTeach(void);

/*
 * Name of a code in this process, with the dictionary's help when there is
 * one.  Works without preloading.  Code 0 is CPU.
 */
extern void WscEventCodeName(uint32 code, WscEventName *name);

#endif							/* WSC_EVENTDICT_H */
