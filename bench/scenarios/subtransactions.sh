description='many read rows written since a transaction with more than 64 savepoints began'
chapter='SubtransSLRU, SubtransBuffer: subtransactions'
settings=('max_prepared_transactions = 1')
setup="CREATE TABLE subtransactions (id integer PRIMARY KEY, n integer);
CREATE FUNCTION insert_each(first integer, last integer)
RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN first .. last LOOP
		BEGIN
			INSERT INTO subtransactions VALUES (i, 0);
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END \$\$;
-- stands for a transaction that takes long
BEGIN;
SELECT insert_each(-100, -1);
PREPARE TRANSACTION 'open';
SELECT insert_each(1, 100000);"
clients=32
script='\set from random(1, 1000)
SELECT sum(n) FROM subtransactions WHERE id % 1000 = :from;'
expected="SELECT tranche, samples, shared_samples, exclusive_samples
	FROM pg_waitscope_lwlocks WHERE tranche LIKE 'Subtrans%'
	ORDER BY samples DESC LIMIT 1"
