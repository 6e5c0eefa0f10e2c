# Throughput with and without the extension.  Short slices in turn; the
# samplers of the servers whose turn it is not are stopped.  "again" is a
# second server without the extension: what its ratio to the first does not
# resolve, ours does not either.

clients=8

# run_slice SERVER SERIES ROUND OPTION...
run_slice()
{
	local tps

	tps=$(run_pgbench "$1" -c $clients -j 2 -T "$seconds" "${@:4}" 2>&1 |
		sed -n 's/^tps = \([0-9.]*\).*/\1/p')
	[ -n "$tps" ] || die "pgbench failed on server $1"
	put "$2/$1" "$3" "$tps"
}

# judge_tps WHAT SERIES: a claim needs an A/A interval within 1 %
judge_tps()
{
	local resolved side

	row "A/A: $1, the server without us twice" ' tps' 1 \
		'near 1' 0.01 "$2/again" "$2/base" 'not loaded'
	resolved=$(tail -1 "$out/rows.tsv" | cut -f7)
	for side in "${sides[@]}"; do
		if [ "$resolved" = met ]; then
			row "$1, $side" ' tps' 1 - - "$2/$side" "$2/base" 'not loaded'
		else
			row "$1, $side: not resolved" ' tps' 1 - - "$2/$side" "$2/base" \
				'not loaded'
		fi
	done
}

part_tps()
{
	local seconds names=(base again) workload options round i who
	local -A samplers=()

	seconds=$(full 2 1)
	boot_both ''
	names+=("${sides[@]}")
	boot base
	boot again
	for who in "${names[@]}"; do
		run_pgbench "$who" -i -q -s "$(full 8 1)" >/dev/null 2>&1
		run_psql "$who" -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
	done
	for who in "${sides[@]}"; do
		find_sampler "$who"
		samplers[$who]=$pid
	done
	hold "${samplers[@]}"

	for workload in select tpcb; do
		options=(-M prepared)
		[ $workload = tpcb ] || options+=(-S)
		for ((round = 0; round <= $(full 9 2); round++)); do
			for ((i = 0; i < ${#names[@]}; i++)); do
				who=${names[(i + round) % ${#names[@]}]}
				[ -z "${samplers[$who]:-}" ] || kill -CONT "${samplers[$who]}"
				# Round 0 warms up.
				run_slice "$who" "$([ "$round" -gt 0 ] || echo warmup/)$workload" \
					"$round" "${options[@]}"
				[ -z "${samplers[$who]:-}" ] || kill -STOP "${samplers[$who]}"
			done
		done
		judge_tps "$workload, $clients clients" $workload
	done
}
