# Shared memory at default settings, the sampler's own memory and whether it
# grows, and what a scan of the process array costs.

# own_memory PID: KB that no other process shares
own_memory()
{
	awk '/^Private_/ { s += $2 } END { print s }' "/proc/$1/smaps_rollup"
}

# Lets the sampler tick as fast as it can for that many ticks.
run_ticks()
{
	local until

	ask ours 'SELECT ticks FROM pg_waitscope_status'
	until=$((reply + $1))
	while [ "$reply" -lt $until ]; do
		sleep 1
		ask ours 'SELECT ticks FROM pg_waitscope_status'
	done
}

part_memory()
{
	local sampler ticks n

	boot_both '' 'max_connections = 120'
	idle_crowd ours "$(full 100 10)"
	find_sampler ours
	sampler=$pid
	print_functions | run_psql ours

	ask ours "SELECT round(sum(allocated_size) / 1048576, 1)
		FROM pg_shmem_allocations WHERE name LIKE 'pg_waitscope%'"
	put shared/ours 1 "$reply"
	row 'shared memory at default settings' ' MB' 1 '<=' 64 shared/ours
	ask ours "SELECT name || ': ' || pg_size_pretty(allocated_size)
		FROM pg_shmem_allocations WHERE name LIKE 'pg_waitscope%'
		ORDER BY allocated_size DESC"
	printf '%s\n' "$reply" | tee "$out/shared-memory.txt"

	for ((n = 1; n <= 9; n++)); do
		ask ours 'SELECT wsc_bench_scan(10000)'
		put scan "$n" "$reply"
	done
	row "scan of $(full 100 10) idle backends, back to back" ' us' 0.001 - - scan

	ticks=$(full 1000000 20000)
	set_live ours pg_waitscope.sample_period=0.1
	run_ticks $((ticks / 100))
	put own/first 1 "$(own_memory "$sampler")"
	run_ticks "$ticks"
	put own/last 1 "$(own_memory "$sampler")"
	row "the sampler's own memory" ' KB' 1 - - own/first
	row "the same after $ticks ticks more" ' KB' 1 \
		'<=' 1 own/last own/first before
	[ "$peer" = yes ] || return 0
	find_sampler peer
	put own/peer 1 "$(own_memory "$pid")"
	row "the peer's own memory, just started" ' KB' 1 - - own/peer
}
