# How many of the instants of a 1 ms period get their sample on an idle
# machine, and whether every instant is accounted for.

period_us=1000

# count_ours: sets ticks, missed, now
count_ours()
{
	ask ours 'SELECT ticks, ticks_missed, wsc_bench_clock()
		FROM pg_waitscope_status'
	IFS='|' read -r ticks missed now <<<"$reply"
}

# The peer keeps no count of its samples: take those of an idle backend.
count_peer()
{
	ask peer "SELECT sum(count), 0,
		(extract(epoch FROM clock_timestamp()) * 1000000)::bigint
		FROM pg_wait_sampling_profile WHERE pid = $idle_pid"
	IFS='|' read -r ticks missed now <<<"$reply"
}

count_empty()
{
	read_counters "$empty_counters"
	read_now
}

count_again()
{
	read_counters "$again_counters"
	read_now
}

part_rate()
{
	local empty_counters again_counters idle_pid who round i ticks0 now0 cpu0
	local seconds names=() first_ticks first_now
	local -A pids=()

	boot_both '' 'max_connections = 50' 'pg_waitscope.sample_period = 1' \
		'pg_wait_sampling.profile_period = 1' \
		'pg_wait_sampling.history_period = 1'
	print_functions | run_psql ours
	for who in "${sides[@]}"; do
		find_sampler "$who"
		pids[$who]=$pid
		idle_crowd "$who" 10
	done
	if [ "$peer" = yes ]; then
		ask peer "SELECT pid FROM pg_stat_activity
			WHERE application_name = 'pgbench' LIMIT 1"
		idle_pid=$reply
	fi
	start_empty $period_us
	pids[empty]=$pid empty_counters=$counters
	start_empty $period_us
	pids[again]=$pid again_counters=$counters
	names=("${!pids[@]}")
	sleep 1
	count_ours
	first_ticks=$((ticks + missed)) first_now=$now

	hold "${pids[@]}"
	seconds=$(full 3 1)
	for ((round = 1; round <= $(full 9 2); round++)); do
		for ((i = 0; i < ${#names[@]}; i++)); do
			who=${names[(i + round) % ${#names[@]}]}
			kill -CONT "${pids[$who]}"
			sleep 0.2
			"count_$who"
			ticks0=$ticks now0=$now
			read_cpu "${pids[$who]}"
			cpu0=$cpu
			sleep "$seconds"
			read_cpu "${pids[$who]}"
			"count_$who"
			kill -STOP "${pids[$who]}"
			put "rate/$who" "$round" "$(compute \
				"($ticks - $ticks0) * $period_us / ($now - $now0)")"
			put "cpu/$who" "$round" "$(compute \
				"($cpu - $cpu0) * 1000000 / ($now - $now0)")"
		done
	done

	row "rate at 1 ms, 10 idle backends" ' %' 100 \
		'>=' 99 rate/ours
	row 'the same against an empty loop' ' %' 100 \
		'>=' 1 rate/ours rate/empty 'empty loop'
	row 'A/A: two empty loops' ' %' 100 - - rate/again rate/empty 'empty loop'
	[ "$peer" = no ] ||
		row 'the same against the peer' ' %' 100 - - rate/ours rate/peer
	row 'sampler CPU, 1 ms, 10 backends idle' ' %' 1e-7 \
		- - cpu/ours cpu/empty 'empty loop'
	[ "$peer" = no ] ||
		row 'the same against the peer' ' %' 1e-7 - - cpu/ours cpu/peer

	# Stopped most of the time, so that most instants were missed.
	kill -CONT "${pids[ours]}"
	sleep 0.2
	count_ours
	put unaccounted 1 "$(compute "($now - $first_now) / $period_us - \
		($ticks + $missed - $first_ticks)")"
	row 'instants neither ticks nor missed' " of $((ticks + missed - first_ticks))" \
		1 'near 0' 2 unaccounted
}
