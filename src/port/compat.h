/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  PostgreSQL 13 to 19 behind one face.
 *
 * Every PG_VERSION_NUM test of the project is in this directory.  A shim has
 * the newest server's name where there is one, and says what changed and
 * when it may go.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WSC_COMPAT_H
#define WSC_COMPAT_H

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "utils/guc.h"

/* 14 moved these out of pgstat.h, 19 no longer includes the first from it. */
#if PG_VERSION_NUM >= 140000
#include "utils/backend_status.h"
#include "utils/wait_event.h"
#endif

/* 14 added query ids in core; 16 moved their header.  Gone with 13. */
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"
#elif PG_VERSION_NUM >= 140000
#include "utils/queryjumble.h"
#endif

/*
 * Before 16 PGDLLEXPORT is empty except on Windows, and we hide what is not
 * exported on purpose (libraries are loaded with RTLD_GLOBAL).  PostgreSQL's
 * macros expand it at their use, so redefining it here is early enough.
 */
#if PG_VERSION_NUM < 160000 && !defined(WIN32)
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif

/* 16 has an allocator for what is attached to settings.  Gone with 15. */
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#endif

/* 15 renamed it.  Gone with 14. */
#if PG_VERSION_NUM < 150000
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* 14 renamed the predefined roles.  Gone with 13. */
#if PG_VERSION_NUM < 140000
#define ROLE_PG_READ_ALL_STATS DEFAULT_ROLE_READ_ALL_STATS
#endif

/* 19 has a cast for it.  Gone with 18. */
#ifndef PG_SIG_IGN
#define PG_SIG_IGN SIG_IGN
#endif

/* Query ids of running statements exist from 14 on. */
static inline void
WscEnableQueryId(void)
{
#if PG_VERSION_NUM >= 140000
	EnableQueryId();
#endif
}

/* Does this session compute them?  And if not, what is to be said? */
#if PG_VERSION_NUM >= 140000
#define WscQueryIdEnabled() IsQueryIdEnabled()
#define WSC_QUERY_IDS_MISSING \
	"The server computes no query identifiers; see \"compute_query_id\" and " \
	"\"pg_waitscope.track_queries\"."
#else
#define WscQueryIdEnabled() false
#define WSC_QUERY_IDS_MISSING \
	"Servers compute query identifiers from PostgreSQL 14 on."
#endif

/* 18 lets a module state its name and version. */
#ifdef PG_MODULE_MAGIC_EXT
#define WSC_MODULE_MAGIC(modname, modversion) \
	PG_MODULE_MAGIC_EXT(.name = (modname), .version = (modversion))
#else
#define WSC_MODULE_MAGIC(modname, modversion) PG_MODULE_MAGIC
#endif

#endif							/* WSC_COMPAT_H */
