# An uncontended pair of acquire and release: CPU time, interleaved, and
# instructions.  "bare" is two atomic operations and nothing else.

variants=(empty bare lwlock_shared lwlock_exclusive fmlock_shared
	fmlock_exclusive)

# Out of callgrind's count per function, divided by the number of pairs.
count_instructions()
{
	local pairs=20000 variant

	configure count template
	{
		print_functions
		printf "SELECT wsc_bench_lock('%s', $pairs)\n" "${variants[@]}"
	} >"$scratch/lock.sql"
	as_user valgrind --tool=callgrind --callgrind-out-file="${dir[count]}/cg" \
		"$bindir/postgres" --single -D "${dir[count]}" \
		-c log_min_messages=fatal postgres \
		<"$scratch/lock.sql" >"${dir[count]}/log" 2>&1 || return 1
	callgrind_annotate --inclusive=yes --threshold=100 "${dir[count]}/cg" |
		sed -n 's/^ *\([0-9,]*\) .*:pairs_\([a-z_]*\) .*/\2 \1/p' |
		tr -d , >"$scratch/lock.counts"
	for variant in "${variants[@]}"; do
		put "instructions/$variant" 1 "$(awk -v v="$variant" -v n=$pairs \
			'$1 == v { print $2 / n; exit }' "$scratch/lock.counts")"
	done
}

part_lock()
{
	local round variant mode

	boot base
	print_functions | run_psql base
	for ((round = 1; round <= $(full 101 7); round++)); do
		for variant in "${variants[@]}"; do
			ask base "SELECT wsc_bench_lock('$variant', 100000)"
			put "pair/$variant" "$round" "$reply"
		done
	done
	for mode in shared exclusive; do
		row "FmLock, uncontended pair, $mode" ' ns' 1 \
			'<=' 0.9 pair/fmlock_$mode pair/lwlock_$mode LWLock
		row 'the same against the bare pair' ' ns' 1 \
			'<=' 1.28 pair/fmlock_$mode pair/bare 'bare pair'
	done
	row 'A/A: the two modes of the LWLock' ' ns' 1 \
		- - pair/lwlock_shared pair/lwlock_exclusive exclusive

	if ! command -v valgrind >/dev/null; then
		not_measured 'instructions of a pair' 'no valgrind'
		return
	fi
	count_instructions || die "callgrind: $(tail -3 "${dir[count]}/log")"
	for mode in shared exclusive; do
		row "FmLock, instructions of a pair, $mode" '' 1 \
			'<=' 90 instructions/fmlock_$mode
		row "LWLock's" '' 1 - - instructions/lwlock_$mode
	done
}
