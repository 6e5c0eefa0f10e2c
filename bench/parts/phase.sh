# A load in step with the sampler's period: a wait of 3 ms in each cell of
# 10 ms, at four phases at once.  Periodic sampling sees all of it or nothing;
# jittered sampling has to find it within its standard error.

period_us=10000
busy_us=3000
phases=(0 2000 5000 7000)

# run_phases SIDE SERIES ROUND CYCLES: one session per phase; puts the share
# of time that the sampler saw waiting, and the true one
run_phases()
{
	local side=$1 series=$2 round=$3 cycles=$4 phase pids=() session truth

	for phase in "${phases[@]}"; do
		run_psql "$side" -F ' ' -c "SELECT pg_backend_pid(), wsc_bench_duty(
			$period_us, $busy_us, $phase, $cycles)" >"$scratch/phase-$phase" &
		pids+=($!)
	done
	wait_for "${pids[@]}"
	sleep 0.05
	for phase in "${phases[@]}"; do
		read -r session truth <"$scratch/phase-$phase"
		case $side in
		ours)
			ask ours "SELECT coalesce(sum(est_time), 0)
				FROM pg_waitscope_profile
				WHERE pid = $session AND wait_event = 'Extension'"
			;;
		peer)
			ask peer "SELECT coalesce(sum(count), 0) * $period_us / 1000
				FROM pg_wait_sampling_profile
				WHERE pid = $session AND event = 'Extension'"
			;;
		esac
		put "$series/$phase" "$round" \
			"$(compute "$reply / ($cycles * $period_us / 1000)")"
		put "$series/$phase/truth" "$round" \
			"$(compute "$truth / ($cycles * $period_us / 1000)")"
	done
}

# summarize WHAT SERIES TICKS TARGET: estimate and truth over all runs, and
# their distance in standard errors of a sample of that many ticks
summarize()
{
	local phase line verdict goal s

	for phase in "${phases[@]}"; do
		line=$(awk -F'\t' -v s="$part/$2/$phase" -v ticks="$3" '
			$1 == s { e += $3; n++ }
			$1 == s "/truth" { t += $3 }
			END {
				e /= n; t /= n
				printf "%.4f %.4f %.1f %d", e, t,
					(e - t) / sqrt(t * (1 - t) / (n * ticks)), n }' "$out/raw.tsv")
		read -r -a s <<<"$line"
		verdict=- goal=-
		if [ -n "$4" ]; then
			goal="within $4"
			verdict=$(awk -v d="${s[2]}" -v t="$4" \
				'BEGIN { print (d < 0 ? -d : d) <= t ? "met" : "missed" }')
		fi
		write_row "$1, phase $((phase / 1000)) ms, ${s[3]} runs" "${s[0]}" \
			"${s[1]}, truth" "${s[2]} standard errors" \
			"$goal" "$verdict"
	done
}

part_phase()
{
	local round cycles

	cycles=$(full 250 50)
	boot_both '' "pg_waitscope.profile_by = 'pid'"
	print_functions | run_psql ours
	for ((round = 1; round <= $(full 20 2); round++)); do
		run_phases ours jitter "$round" "$cycles"
	done
	summarize "3 of 10 ms in step" jitter "$cycles" 3

	set_live ours pg_waitscope.jitter=off
	for ((round = 1; round <= $(full 3 1); round++)); do
		run_phases ours periodic "$round" "$cycles"
	done
	summarize "the same without jitter" periodic "$cycles" ''

	[ "$peer" = yes ] || return 0
	print_functions | run_psql peer
	for ((round = 1; round <= $(full 3 1); round++)); do
		run_phases peer peer "$round" "$cycles"
	done
	summarize "the peer's" peer "$cycles" ''
}
