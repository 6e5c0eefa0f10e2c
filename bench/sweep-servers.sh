# Sourced by bench/sweep: the servers that are compared, and what is to be
# known about them.  Expects its settings, and lib.sh.

labels=()
# By label: what was given, how to connect, whether there is a wait profile,
# the sampler to be held while others have their turn, our database.
declare -A server=() conninfo=() profile=() sampler=() database=()
# By PG_CONFIG: where its copy is, the programs in there, whether we are built.
declare -A home=() home_bindir=() built=()

clean_up()
{
	local label

	trap '' INT TERM PIPE
	set +e
	end_part
	for label in "${!database[@]}"; do
		admin "$label" -c "DROP DATABASE IF EXISTS ${database[$label]} WITH (FORCE)" >/dev/null ||
			note "${database[$label]} on $label could not be dropped"
	done
	for scratch in "${home[@]}" "${scratch:-}"; do
		remove_scratch
	done
	rm -rf "${work:-}"
	[ -n "${made:-}" ] || return
	if [ -z "$(sed -n 2p "$made/raw.csv" 2>/dev/null)" ]; then
		rm -rf "$made"
	elif [ ! -e "$made/table.txt" ]; then
		note "what was measured until then is in $made/raw.csv"
	fi
}

# run COMMAND...: so that a signal does not have to wait for its end; what it
# prints is in $work/out, its messages in $work/log
run()
{
	local status=0

	"$@" >"$work/out" 2>"$work/log" &
	children=($!)
	wait $! || status=$?
	children=()
	return $status
}

# on LABEL OPTION...: psql, in the foreground
on()
{
	"$client_bin/psql" -XAtq -F $'\t' -v ON_ERROR_STOP=1 "${@:2}" "${conninfo[$1]}"
}

admin()
{
	"$client_bin/psql" -XAtq -v ON_ERROR_STOP=1 "${@:2}" \
		"$(address "${server[$1]}") dbname=${PGDATABASE:-postgres}"
}

# address HOST:PORT
address()
{
	printf "host='%s' port=%s" "${1%:*}" "${1##*:}"
}

# From then on as_user and the functions of lib.sh are about that installation.
use_installation()
{
	if [ -z "${home[$1]:-}" ]; then
		PG_CONFIG=$1 make_scratch sweep
		home[$1]=$scratch home_bindir[$1]=$bindir
	fi
	scratch=${home[$1]} bindir=${home_bindir[$1]} pg_config=$bindir/pg_config
}

build()
{
	note "building pg_waitscope for $1"
	PG_CONFIG=$1 "$top/tools/deps" demo
	as_user make -s -j2 all install >"$scratch/build.log" 2>&1 ||
		die "the build for $1 failed (\"plain\" does without it): $(tail -3 "$scratch/build.log")"
	built[$1]=yes
}

make_server()
{
	local label=$1 pgc=${server[$1]%%,*} words fit=()

	mapfile -t words < <(tr , '\n' <<<"${server[$label]}" | tail -n +2)
	use_installation "$pgc"
	: "${client_bin:=$bindir}"
	if [[ " ${words[*]} " != *" plain "* ]]; then
		[ -n "${built[$pgc]:-}" ] || build "$pgc"
		fit=("${ours[@]}")
	fi
	# All data fit, so that it is not the disk that is compared.
	[ $locks = yes ] || fit+=("shared_buffers = $((scale * 24 + 128))MB")
	[ -e "$scratch/template" ] || make_template
	mapfile -t words < <(printf '%s\n' "${settings[@]}" "${words[@]}" |
		sed -n "s/^\([a-z_.]*\)=\(.*\)/\1 = '\2'/p")
	configure "$label" template "${fit[@]}" \
		"max_connections = $((most > 80 ? most + 20 : 100))" \
		"max_worker_processes = $((most + 16))" "${words[@]}"
	launch "$label"
	conninfo[$label]="host='${dir[$label]}' port=5432 user=postgres dbname=postgres"
}

find_server()
{
	local name=pg_waitscope_sweep_$$_${#database[@]} log

	log=$(admin "$1" -c "CREATE DATABASE $name" 2>&1) ||
		die "no database can be made on $1: ${log//$'\n'/ }"
	database[$1]=$name
	conninfo[$1]="$(address "${server[$1]}") dbname=$name"
}

fill_server()
{
	local label=$1 limit

	limit=$(on "$label" -c 'SHOW max_connections')
	[ "$limit" -gt "$((most + 5))" ] ||
		die "$most clients are too many for $label with max_connections = $limit"
	profile[$label]=no
	if on "$label" -c 'CREATE EXTENSION IF NOT EXISTS pg_waitscope' \
		-c 'SELECT count(*) FROM pg_waitscope_events' >/dev/null 2>&1; then
		profile[$label]=yes
	fi
	if [ "${profile[$label]}" = yes ] && [ -n "${dir[$label]:-}" ]; then
		sampler[$label]=$(on "$label" -c "SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'pg_waitscope sampler'")
	fi
	[ $locks = no ] || return 0

	note "filling $label, scale $scale"
	run "$client_bin/pgbench" -i -q -s "$scale" "${conninfo[$label]}" ||
		die "pgbench -i failed on $label: $(tail -1 "$work/log")"
	on "$label" -c 'CREATE EXTENSION pg_prewarm' 2>/dev/null ||
		note "$label has no pg_prewarm: index scans over all tables instead"
}

# Not those settings that may hold a password.
write_conditions()
{
	local commit label

	commit=$(git -C "$top" rev-parse --short HEAD 2>/dev/null || echo unknown)
	git -C "$top" diff --quiet HEAD -- src sql 2>/dev/null || commit+=', changed'
	printf '%s\t%s\n' \
		date "$(date -u '+%Y-%m-%d %H:%M UTC')" \
		command "bench/sweep$options" \
		clients "$clients; $rounds rounds of $seconds s" \
		'client machine' "$(uname -srm), $cpus CPUs" \
		CPU "$(LC_ALL=C lscpu | grep -E '^(Model name|Thread|Core|Socket|NUMA node\(s\)|Hypervisor|Virt)' |
			sed 's/: */: /' | paste -sd ';' | sed 's/;/; /g')" \
		memory "$(awk '/^MemTotal/ { printf "%.1f GB", $2 / 1048576 }' /proc/meminfo)" \
		'client programs' "$("$client_bin/pgbench" --version)" \
		pg_waitscope "commit $commit"
	[ $locks = yes ] || printf '%s\t%s\n' \
		pgbench "-M prepared, -j min(clients, CPUs), scale $scale" \
		'before each run' 'VACUUM of branches and tellers, history emptied, tables and indexes prewarmed'
	for label in "${labels[@]}"; do
		printf "$label: %s\t%s\n" \
			server "${server[$label]}" \
			'where it runs' "$(is_local "$label" && echo 'the machine of the clients' || echo 'not the machine of the clients')" \
			version "$(on "$label" -c 'SELECT version()')" \
			flags "$(on "$label" -c "SELECT setting FROM pg_config WHERE name = 'CFLAGS'" 2>/dev/null || echo unknown)" \
			max_connections "$(on "$label" -c 'SHOW max_connections')" \
			'settings not default' "$(on "$label" -c "SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name)
				FROM pg_settings WHERE setting IS DISTINCT FROM boot_val AND context <> 'internal'
				AND name NOT LIKE '%conninfo' AND name NOT LIKE '%command'
				AND source NOT IN ('default', 'override', 'client', 'session')")" \
			'wait profile' "${profile[$label]}"
	done
	printf 'load before\t%s\n' "$(cat /proc/loadavg)"
}

is_local()
{
	[ -n "${dir[$1]:-}" ] || [[ ${server[$1]} =~ ^(/.*|localhost|127\..*|::1):[0-9]+$ ]]
}
