/*-------------------------------------------------------------------------
 *
 * scan_test.h
 *	  What the files of the scan's test driver share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCAN_TEST_H
#define SCAN_TEST_H

#include "port/procarray.h"

/* What scanners created from now on take for the status entries, if set. */
extern const WscStatusArray *given_status;

#endif							/* SCAN_TEST_H */
