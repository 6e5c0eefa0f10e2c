\echo Use "CREATE EXTENSION wsc_test_faults" to load this file. \quit

/* Nothing is called: the setting wsc_test_faults.raise is all there is. */
