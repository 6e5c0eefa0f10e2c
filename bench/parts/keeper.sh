# What looking for hot blocks and for single LWLocks costs: a look at the
# buffers at three sizes of shared_buffers, the CPU time of the keeper, that of
# the sampler with and without the walk, and what both do to a load whose
# sessions wait for the content of one page.

# Clients that get in each other's way at the right edge of an index.
edge_clients=16
edge_script='INSERT INTO edge SELECT FROM generate_series(1, 50);'

# boot_edge SERVER SETTING...
boot_edge()
{
	boot "$1" "${ours[@]}" 'synchronous_commit = off' "${@:2}"
	ask "$1" 'CREATE EXTENSION pg_waitscope'
	print_functions | run_psql "$1"
	ask "$1" 'CREATE TABLE edge (id bigserial PRIMARY KEY,
		at timestamptz DEFAULT clock_timestamp())'
	ask "$1" 'CREATE INDEX ON edge (at)'
	printf '%s\n' "$edge_script" >"$scratch/edge.sql"
}

start_edge()
{
	start_pgbench "$1" -c "$edge_clients" -j 2 -T 100000 -f "$scratch/edge.sql"
	sleep 1
}

end_load()
{
	kill "${children[-1]}"
	wait "${children[-1]}" 2>/dev/null || :
}

# look SERVER SERIES ROUND COLD: microseconds of a look
look()
{
	local -a said

	ask "$1" "SELECT array_to_string(wsc_bench_look(200, $4), ' ')"
	read -r -a said <<<"$reply"
	put "look/$2" "$3" "${said[0]}"
	put "found/$2" "$3" "${said[1]}"
}

# cpu_of SERIES ROUND PID SECONDS: share of a CPU, in percent
cpu_of()
{
	local cpu0 t0

	read_cpu "$3"
	cpu0=$cpu
	read_now
	t0=$now
	sleep "$4"
	read_cpu "$3"
	read_now
	put "$1" "$2" "$(compute "($cpu - $cpu0) / 10 / ($now - $t0)")"
}

looks_at()
{
	local server=ours$1 round keeper

	boot_edge "$server" "shared_buffers = $1MB"
	find_process "$server" 'pg_waitscope keeper'
	keeper=$pid
	for ((round = 1; round <= $(full 3 1); round++)); do
		cpu_of "idle/$1" "$round" "$keeper" "$(full 4 1)"
	done
	start_edge "$server"
	for ((round = 1; round <= $(full 9 2); round++)); do
		look "$server" "$1/hot" "$round" false
		look "$server" "$1/cold" "$round" true
		cpu_of "busy/$1" "$round" "$keeper" "$(full 2 1)"
	done
	end_load
	row "a look, $1 MB, where waiters were before" ' us' 1 - - "look/$1/hot"
	row "a look, $1 MB, without knowing where" ' us' 1 - - "look/$1/cold" \
		"look/$1/hot" 'where they were'
	row "waiters found by these, $1 MB" '' 1 - - "found/$1/hot"
	row "keeper CPU, nobody waits, $1 MB" ' %' 1 - - "idle/$1"
	row "keeper CPU, $edge_clients sessions at one page, $1 MB" ' %' 1 \
		'<=' 1 "busy/$1"
	stop "$server"
}

# The walk along the queues: partitions of the lock manager.
walk()
{
	local round side i

	boot walk "${ours[@]}" 'max_connections = 120' \
		'max_locks_per_transaction = 256'
	ask walk 'CREATE EXTENSION pg_waitscope'
	ask walk 'CREATE TABLE parts (id int PRIMARY KEY, v int)
		PARTITION BY RANGE (id)'
	ask walk "DO \$\$ BEGIN FOR i IN 0 .. 99 LOOP
		EXECUTE format('CREATE TABLE parts_%s PARTITION OF parts
			FOR VALUES FROM (%s) TO (%s)', i, 10 * i, 10 * i + 10);
		END LOOP; END \$\$"
	echo 'SELECT count(*) FROM parts WHERE v = 1;' >"$scratch/parts.sql"
	find_sampler walk
	start_pgbench walk -c 32 -j 2 -T 100000 -f "$scratch/parts.sql"
	sleep 1
	for ((round = 1; round <= $(full 9 2); round++)); do
		for ((i = 0; i < 3; i++)); do
			side=$(((i + round) % 3))
			set_live walk "pg_waitscope.lwlock_instances=$([ $side = 0 ] &&
				echo off || echo on)"
			cpu_of "walk/$side" "$round" "$pid" 1
		done
	done
	end_load
	row 'A/A: sampler CPU, 32 sessions at the lock manager' ' %' 1 - - \
		walk/2 walk/1 'the same'
	row 'the same, against lwlock_instances off' ' %' 1 - - walk/1 walk/0 off
	stop walk
}

# The load with these parts, without them, and with them once more.
effect()
{
	local round side i tps

	boot_edge effect 'shared_buffers = 1GB'
	for ((round = 0; round <= $(full 9 2); round++)); do
		for ((i = 0; i < 3; i++)); do
			side=$(((i + round) % 3))
			set_live effect "pg_waitscope.hot_blocks=$([ $side = 0 ] &&
				echo off || echo on)" \
				"pg_waitscope.lwlock_instances=$([ $side = 0 ] &&
				echo off || echo on)"
			ask effect 'TRUNCATE edge'
			run_pgbench effect -c "$edge_clients" -j 2 -T 2 \
				-f "$scratch/edge.sql" >"$scratch/edge.log" 2>&1 ||
				die "pgbench failed: $(cat "$scratch/edge.log")"
			tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$scratch/edge.log")
			[ -n "$tps" ] || die "no transaction: $(cat "$scratch/edge.log")"
			# Round 0 warms up.
			put "$([ $round -gt 0 ] || echo warmup/)effect/$side" "$round" "$tps"
		done
	done
	row 'A/A: inserts at a right edge, both parts on' ' tps' 1 - - \
		effect/2 effect/1 'the same'
	row 'the same, against both off' ' tps' 1 - - effect/1 effect/0 off
	stop effect
}

part_keeper()
{
	local mb

	for mb in 128 1024 8192; do
		looks_at $mb
	done
	walk
	effect
}
