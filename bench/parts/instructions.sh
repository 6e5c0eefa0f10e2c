# Instructions of a statement in its backend, counted by callgrind: without
# the extension, with it, with query ids and without.  The counts of a longer
# and a shorter run of the same client are subtracted, so that what a backend
# does once is not in them.

declare -A settings=(
	[base]=''
	[again]=''
	[ids]='compute_query_id = on'
	[off]="shared_preload_libraries = 'pg_waitscope'
pg_waitscope.track_queries = off"
	[ours]="shared_preload_libraries = 'pg_waitscope'"
)
declare -A modes=([prepared]=prepared [simple]=simple [select1]=simple)
declare -A scripts=(
	[prepared]='SELECT abalance FROM pgbench_accounts WHERE aid = 4711'
	[simple]='SELECT abalance FROM pgbench_accounts WHERE aid = 4711'
	[select1]='SELECT 1'
)

# All configurations start from the same tables, without anything left to do
# for the first who reads them.
make_tables()
{
	boot tables
	run_pgbench tables -i -q -s 1 >/dev/null 2>&1
	run_psql tables -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
	as_user pg_ctl -s -w -m fast -D "${dir[tables]}" stop
	sed -i '/^unix_socket_directories/d' "${dir[tables]}/postgresql.conf"
	mv "${dir[tables]}" "$scratch/tables"
	stop tables
}

start_counted()
{
	local d=${dir[$1]} i

	as_user valgrind --quiet --tool=callgrind \
		--callgrind-out-file="$d/cg.%p" "$bindir/postgres" -D "$d" \
		>"$d/log" 2>&1 &
	for ((i = 0; i < 1200; i++)); do
		if "$bindir/pg_isready" -q -h "$d"; then
			note_postmaster "$1"
			return
		fi
		sleep 0.1
	done
	die "the server does not start under callgrind: $(tail -3 "$d/log")"
}

# count_run SERVER MODE SCRIPT STATEMENTS: sets total to the instructions of
# the backend that ran them: of the last connection, as pgbench has another
# one before for its questions.
count_run()
{
	local d=${dir[$1]} backend i

	run_pgbench "$1" -M "$2" -f "$3" -t "$4" >/dev/null 2>&1 ||
		die "pgbench: $(tail -3 "$d/log")"
	backend=$(sed -n 's/^\([0-9]*\) .*connection authorized.*/\1/p' "$d/log" |
		tail -1)
	for ((i = 0; i < 600; i++)); do
		total=$(sed -n 's/^totals: //p' "$d/cg.$backend" 2>/dev/null) || :
		[ -z "$total" ] || return 0
		sleep 0.1
	done
	die "callgrind left no count for process $backend"
}

count_statements()
{
	local which short long round less

	short=$(full 1000 50)
	long=$((short * 3))
	for which in prepared simple select1; do
		printf '%s;\n' "${scripts[$which]}" >"$scratch/statement.sql"
		for ((round = 1; round <= $(full 3 1); round++)); do
			count_run "$1" ${modes[$which]} "$scratch/statement.sql" $short
			less=$total
			count_run "$1" ${modes[$which]} "$scratch/statement.sql" $long
			put "$which/$1" "$round" \
				"$(compute "($total - $less) / ($long - $short)")"
		done
	done
}

part_instructions()
{
	local config which what

	if ! command -v valgrind >/dev/null; then
		not_measured 'instructions of a statement' 'no valgrind'
		return
	fi
	make_tables
	for config in base again ids off ours; do
		# Time under callgrind is slow: whatever is done now and then must
		# not be done by the backend that is counted.
		configure $config tables "${settings[$config]}" \
			'max_logical_replication_workers = 0' 'track_counts = off' \
			'log_connections = on' "log_line_prefix = '%p '" \
			'pg_waitscope.sample_period = 1s'
		start_counted $config
		count_statements $config
		end_part
	done
	for which in prepared simple select1; do
		case $which in
		select1) what='SELECT 1' ;;
		*) what="$which point select" ;;
		esac
		row "instructions, $what, without query ids" '' 1 \
			'near 1' 0.001 $which/off $which/base 'not loaded'
		row "the same with query ids" '' 1 \
			'near 1' 0.001 $which/ours $which/ids 'not loaded, ids on'
		row "price of query ids" '' 1 - - $which/ours $which/off 'ids off'
		row "A/A: the server without us twice" '' 1 \
			- - $which/again $which/base 'not loaded'
	done
}
