# Reading a large profile: 100,000 keys, made by 50 sessions that show one
# after the other.  The peer's query ids come from its own hooks, so its keys
# differ by event instead.

view_of()
{
	case $1 in
	ours) view=pg_waitscope_profile ;;
	peer) view=pg_wait_sampling_profile ;;
	esac
}

part_profile()
{
	local n sessions=50 side by i round view started pids

	n=$(full 2000 50)
	boot_both '' 'max_connections = 100' 'pg_waitscope.profile_max = 110000' \
		'pg_waitscope.sample_period = 1' 'pg_wait_sampling.profile_period = 1'
	for side in "${sides[@]}"; do
		print_functions | run_psql "$side"
		by=$([ "$side" = peer ] && echo true || echo false)
		pids=()
		for ((i = 0; i < sessions; i++)); do
			run_psql "$side" -c "SELECT wsc_bench_keys($n, $((1 + i * n)), 4000, $by)" \
				>/dev/null &
			pids+=($!)
		done
		wait_for "${pids[@]}"
	done
	set_live ours pg_waitscope.sample_period=10
	[ "$peer" = no ] || set_live peer pg_wait_sampling.profile_period=10

	for ((round = 1; round <= $(full 15 2); round++)); do
		for side in "${sides[@]}"; do
			view_of "$side"
			read_now
			started=$now
			ask "$side" "SELECT count(*) FROM $view"
			read_now
			put "count/$side" "$round" $((now - started))
			put "row/$side" "$round" "$(compute "($now - $started) / $reply")"
			eval "entries_$side=$reply"
		done
	done
	if [ "$peer" = no ]; then
		row "count(*) of $entries_ours profile entries" ' ms' 0.001 - - count/ours
		return
	fi
	row "count(*) of $entries_ours profile entries (peer: $entries_peer)" \
		' ms' 0.001 '<=' 0.5 count/ours count/peer
	row 'the same, an entry' ' us' 1 '<=' 0.5 row/ours row/peer
}
