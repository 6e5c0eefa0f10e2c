/*-------------------------------------------------------------------------
 *
 * next.c
 *	  Functions that the made-up next version of the extension adds.
 *
 * Those of the present version stay in the library: a database keeps its
 * objects until somebody updates the extension in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "shmem.h"
#include "view.h"

WSC_SQL_FUNCTION(pg_waitscope_get_stores_1_1);
WSC_SQL_FUNCTION(pg_waitscope_total_bytes);

static Size
add_up_regions(void)
{
	Size		total = 0;

	for (int i = 0; i < wsc_num_regions; i++)
		total += wsc_regions[i].size();
	return total;
}

Datum
pg_waitscope_get_stores_1_1(PG_FUNCTION_ARGS)
{
	WscRows		rows;

	WscRequirePreload();
	WscRowsBegin(&rows, fcinfo);
	for (int i = 0; i < wsc_num_regions; i++)
	{
		Size		size = wsc_regions[i].size();

		WscPutText(&rows, wsc_regions[i].name);
		WscPutNull(&rows);
		WscPutNull(&rows);
		WscPutInt64(&rows, (int64) size);
		WscPutNull(&rows);
		WscPutNull(&rows);
		WscPutNull(&rows);
		WscPutNull(&rows);
		WscPut(&rows, Float8GetDatum((double) size /
									 (double) add_up_regions()));
		WscRowsEnd(&rows);
	}
	return (Datum) 0;
}

Datum
pg_waitscope_total_bytes(PG_FUNCTION_ARGS)
{
	WscRequirePreload();
	PG_RETURN_INT64((int64) add_up_regions());
}
