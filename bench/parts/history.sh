# Readers of a large history: do they keep the sampler from sampling, and how
# long do they take?  A million rows come from 100 idle connections that
# track_idle puts into the ring at 1 ms; after that every tick of 10 ms is
# kept, so that a gap can be read off the history itself.

# Something as busy as a reader that has nothing to do with the history.
busy_query='SELECT count(*) FROM generate_series(1, 2000000)'

history_of()
{
	case $1 in
	ours) view=pg_waitscope_history moment=sampled_at ;;
	peer) view=pg_wait_sampling_history moment=ts ;;
	esac
}

# Rows in the ring; reading the peer's to count them is what it is bad at.
fill_history()
{
	local i

	reply=0
	history_of "$1"
	for ((i = 0; i < 60 && reply < rows; i++)); do
		sleep 2
		ask "$1" "SELECT count(*) FROM $view"
	done
	[ "$reply" -ge "$rows" ] || die "server $1: only $reply rows of history"
}

slow_down()
{
	case $1 in
	ours) set_live ours pg_waitscope.sample_period=10 \
		pg_waitscope.history_period=10 ;;
	peer) set_live peer pg_wait_sampling.history_period=10 \
		pg_wait_sampling.profile_period=10 ;;
	esac
}

# start_load SERVER N SCRIPT: N clients that repeat it
start_load()
{
	[ "$2" -gt 0 ] || return 0
	printf '%s;\n' "$3" >"$scratch/load-$1.sql"
	start_pgbench "$1" -c "$2" -j "$2" -T 1000 -f "$scratch/load-$1.sql"
	load=$!
	sleep 0.5
}

end_load()
{
	[ -n "$load" ] || return 0
	kill "$load"
	wait "$load" 2>/dev/null || :
	load=
	# Its backends find out when they have the answer ready.
	until ask "$1" "SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'pgbench' AND state = 'active'" &&
		[ "$reply" = 0 ]; do
		sleep 0.1
	done
}

# longest_gap SERVER SERIES ROUND READERS STOPPED SCRIPT: puts the longest
# time in ms between two samples of an idle process while they read
longest_gap()
{
	local load='' from to reader=

	start_load "$1" "$4" "$6"
	if [ "$5" = stopped ]; then
		ask "$1" "SELECT pid FROM pg_stat_activity WHERE state = 'active'
			AND application_name = 'pgbench' LIMIT 1"
		reader=$reply
		kill -STOP "$reader"
		held+=("$reader")
	fi
	ask "$1" "SELECT clock_timestamp()"
	from=$reply
	sleep "$seconds"
	ask "$1" "SELECT clock_timestamp()"
	to=$reply
	[ -z "$reader" ] || kill -CONT "$reader"
	end_load "$1"
	history_of "$1"
	ask "$1" "SELECT 1000 * extract(epoch FROM max(gap)) FROM (
			SELECT $moment - lag($moment) OVER (ORDER BY $moment) AS gap
			FROM (SELECT $moment FROM $view WHERE pid = $idle_pid
				AND $moment BETWEEN '$from' AND '$to'
				UNION ALL VALUES ('$from'::timestamptz), ('$to')) m) g"
	put "$2" "$3" "$reply"
}

gaps()
{
	local side=$1 round n

	ask "$side" "SELECT pid FROM pg_stat_activity
		WHERE application_name = 'pgbench' AND state = 'idle' LIMIT 1"
	idle_pid=$reply
	history_of "$side"
	for ((round = 1; round <= $2; round++)); do
		longest_gap "$side" "gap/$side/none" "$round" 0 '' ''
		for n in 1 2 4; do
			longest_gap "$side" "gap/$side/$n" "$round" $n '' \
				"SELECT count(*) FROM $view"
		done
		longest_gap "$side" "gap/$side/stopped" "$round" 2 stopped \
			"SELECT count(*) FROM $view"
		[ "$side" = ours ] || continue
		longest_gap "$side" gap/ours/again "$round" 0 '' ''
		longest_gap "$side" gap/ours/busy "$round" 4 '' "$busy_query"
	done
}

time_count()
{
	local started

	history_of "$1"
	read_now
	started=$now
	ask "$1" "SELECT count(*) FROM $view"
	read_now
	put "count/$1" "$2" $((now - started))
	put "rows/$1" "$2" "$reply"
	put "row/$1" "$2" "$(compute "($now - $started) / $reply")"
}

part_history()
{
	local rows rows_peer seconds idle_pid view moment side round n size missed

	rows=$(full 1000000 20000)
	seconds=$(full 2 1)
	# A record is 48 bytes; a little above a million of them.
	size=$(full 51MB 2MB)
	boot_both '' 'max_connections = 120' \
		"pg_waitscope.history_size = $size" 'pg_waitscope.track_idle = on' \
		'pg_waitscope.sample_period = 1' 'pg_waitscope.history_period = 1' \
		"pg_wait_sampling.history_size = $((rows * 102 / 100))" \
		'pg_wait_sampling.history_period = 1'
	n=$(full 100 10)
	for side in "${sides[@]}"; do
		idle_crowd "$side" "$n"
		fill_history "$side"
		slow_down "$side"
	done

	for ((round = 1; round <= $(full 9 2); round++)); do
		for side in "${sides[@]}"; do
			time_count "$side" "$round"
		done
	done
	rows_peer=$reply
	ask ours "SELECT count(*) FROM pg_waitscope_history"
	if [ "$peer" = yes ]; then
		row "count(*) of $reply rows of history (peer: $rows_peer)" ' ms' 0.001 \
			- - count/ours count/peer
		row 'the same, a row' ' us' 1 '<=' 0.5 row/ours row/peer
	else
		row "count(*) of $reply rows of history" ' ms' 0.001 - - count/ours
	fi

	ask ours "SELECT ticks_missed FROM pg_waitscope_status"
	missed=$reply
	gaps ours "$(full 6 1)"
	ask ours "SELECT ticks_missed - $missed FROM pg_waitscope_status"
	put missed 1 "$reply"
	row 'A/A: longest gap at 10 ms, no reader' ' ms' 1 \
		- - gap/ours/again gap/ours/none 'no reader'
	for n in 1 2 4; do
		row "longest gap, readers: $n" ' ms' 1 \
			'<=' 1 gap/ours/$n gap/ours/none 'no reader'
	done
	row 'longest gap, readers: 2, one of them stopped' ' ms' 1 \
		'<=' 1 gap/ours/stopped gap/ours/none 'no reader'
	row 'longest gap, readers: 4, against 4 other queries' ' ms' 1 \
		'<=' 1 gap/ours/4 gap/ours/busy 'other queries'
	row 'ticks missed in all of that' '' 1 - - missed
	[ "$peer" = yes ] || return 0
	gaps peer "$(full 2 1)"
	for n in none 1 2 4 stopped; do
		row "the peer's longest gap, readers: $n" ' ms' 1 - - gap/peer/$n
	done
}
