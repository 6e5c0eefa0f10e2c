# Waits of known length: what the sampler says over what was waited.

sessions=8
wait_seconds=5

# Milliseconds waited by this side's clients for that event, by the sampler.
read_estimate()
{
	case $1 in
	ours)
		ask ours "SELECT coalesce(sum(est_time), 0) FROM pg_waitscope_events
			WHERE wait_event = '$2'"
		;;
	peer)
		ask peer "SELECT coalesce(sum(count), 0) * $3
			FROM pg_wait_sampling_profile WHERE event = '$2'"
		;;
	esac
}

# wait_known SIDE FUNCTION: sets truth to the ms that all sessions waited
wait_known()
{
	local i pids=()

	for ((i = 0; i < sessions; i++)); do
		run_psql "$1" -c "SELECT 1000 * extract(epoch FROM clock_timestamp() - t)
			FROM (SELECT clock_timestamp() AS t, $2 OFFSET 0) s" \
			>"$scratch/truth-$i" &
		pids+=($!)
	done
	wait_for "${pids[@]}"
	truth=$(cat "$scratch"/truth-* | awk '{ s += $1 } END { print s }')
}

# measure_once SIDE EVENT PERIOD ROUND
measure_once()
{
	local before holder

	read_estimate "$1" "$2" "$3"
	before=$reply
	if [ "$2" = PgSleep ]; then
		wait_known "$1" "pg_sleep($wait_seconds)"
	else
		# Asleep with the lock, but that is another event.
		run_psql "$1" -c "SELECT pg_advisory_lock(1)" \
			-c "SELECT pg_sleep($wait_seconds)" >/dev/null &
		holder=$!
		wait_for_lock "$1"
		wait_known "$1" "pg_advisory_lock_shared(1)"
		wait_for $holder
	fi
	sleep 0.1
	read_estimate "$1" "$2" "$3"
	put "$2/$3/$1" "$4" "$(compute "($reply - $before) / $truth")"
}

wait_for_lock()
{
	reply=0
	until [ "$reply" = 1 ]; do
		ask "$1" "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
	done
}

part_accuracy()
{
	local period event side round

	for period in 10 1; do
		boot_both '' "pg_waitscope.sample_period = $period" \
			"pg_wait_sampling.profile_period = $period" \
			"pg_wait_sampling.history_period = $period"
		for event in PgSleep advisory; do
			for ((round = 1; round <= $(full 3 1); round++)); do
				for side in "${sides[@]}"; do
					measure_once "$side" $event $period "$round"
				done
			done
			row "$event $wait_seconds s, $sessions sessions, at $period ms: estimate / truth" \
				'' 1 'near 1' 0.01 $event/$period/ours
			[ "$peer" = no ] ||
				row "the peer's" '' 1 - - $event/$period/peer
		done
		end_part
	done
}
