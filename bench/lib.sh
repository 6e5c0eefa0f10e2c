# Sourced by bench/run and bench/sweep: throw-away servers, held processes,
# slices, rows.
#
# Everything lies in $scratch and ends with the run.  Servers listen on
# sockets in their own folders only.  For bench/run one psql stays connected to
# each server, so that asking costs no new backend.

declare -A dir=() postmaster=() ask_in=() ask_out=() client=()
children=()			# background jobs to end
held=()				# processes to let go before the servers stop

# What makes a server ours or the peer's.
ours=("shared_preload_libraries = 'pg_waitscope'")
theirs=("shared_preload_libraries = 'pg_wait_sampling'")

# All servers, so that only what is measured happens in them.
common_settings=('fsync = off' 'autovacuum = off' 'jit = off'
	'shared_buffers = 128MB' 'max_wal_size = 4GB' 'checkpoint_timeout = 1h'
	'max_locks_per_transaction = 20' "listen_addresses = ''")

note()
{
	printf '# %s\n' "$*" >&2
}

# install_tools PROGRAM[:PACKAGE]...: those that are not there, if it can be done
install_tools()
{
	local missing=() tool

	for tool; do
		command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		note "not installed, and only root can: ${missing[*]}"
		return
	fi
	apt-get -qq update &&
		DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
			--no-install-recommends install "${missing[@]}" >/dev/null ||
		note "apt-get could not install ${missing[*]}"
}

# full N QUICK: N, or the other when it is only a try
full()
{
	if [ "$quick" = yes ]; then echo "$2"; else echo "$1"; fi
}

# Makes the data folder that those of all servers are copies of.
make_template()
{
	as_user initdb -D "$scratch/template" -U postgres -A trust --no-sync \
		-E UTF8 --no-locale >"$scratch/initdb.log" 2>&1 ||
		die "initdb failed: $(cat "$scratch/initdb.log")"
	printf '%s\n' "${common_settings[@]}" \
		>>"$scratch/template/postgresql.conf"
}

# configure SERVER TEMPLATE SETTING...: not started
configure()
{
	dir[$1]=$scratch/server-$1
	cp -a "$scratch/$2" "${dir[$1]}"
	printf '%s\n' "unix_socket_directories = '${dir[$1]}'" "${@:3}" \
		>>"${dir[$1]}/postgresql.conf"
}

start()
{
	launch "$1"
	connect "$1"
}

launch()
{
	as_user pg_ctl -s -w -D "${dir[$1]}" -l "${dir[$1]}/log" start ||
		die "server $1 does not start: $(tail -3 "${dir[$1]}/log")"
	note_postmaster "$1"
}

note_postmaster()
{
	postmaster[$1]=$(head -1 "${dir[$1]}/postmaster.pid")
}

# boot SERVER SETTING...: from the template to a connection
boot()
{
	configure "$1" template "${@:2}"
	start "$1"
}

connect()
{
	local d=${dir[$1]} in out

	mkfifo "$d/in" "$d/out"
	"$bindir/psql" -XAtq -h "$d" -U postgres postgres <"$d/in" \
		>"$d/out" 2>&1 &
	client[$1]=$!
	exec {in}>"$d/in" {out}<"$d/out"
	ask_in[$1]=$in ask_out[$1]=$out
}

# ask SERVER QUERY: sets reply
ask()
{
	local line

	printf '%s;\n\\echo .\n' "$2" >&"${ask_in[$1]}"
	reply=
	while IFS= read -r -t 300 -u "${ask_out[$1]}" line; do
		case $line in
		.) return 0 ;;
		*ERROR:* | *FATAL:* | *PANIC:*) die "server $1: $line, at: $2" ;;
		esac
		reply+=${reply:+$'\n'}$line
	done
	die "server $1 does not answer: $2"
}

run_psql()
{
	"$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -h "${dir[$1]}" -U postgres \
		postgres "${@:2}"
}

run_pgbench()
{
	"$bindir/pgbench" -n -h "${dir[$1]}" -U postgres "${@:2}" postgres
}

# start_pgbench SERVER OPTION...: for end_part or an earlier kill; $! is it
start_pgbench()
{
	"$bindir/pgbench" -n -h "${dir[$1]}" -U postgres "${@:2}" postgres \
		>>"$scratch/pgbench.log" 2>&1 &
	children+=($!)
}

# set_live SERVER NAME=VALUE...: by reload; in force on return
set_live()
{
	local setting

	for setting in "${@:2}"; do
		ask "$1" "ALTER SYSTEM SET ${setting%%=*} = ${setting#*=}"
	done
	ask "$1" "SELECT pg_reload_conf()"
	sleep 0.5
}

stop()
{
	local in=${ask_in[$1]:-} out=${ask_out[$1]:-}

	if [ -n "$in" ]; then
		# Closing is not enough: later clients have the pipe open as well.
		echo '\q' >&"$in"
		exec {in}>&- {out}<&-
		wait "${client[$1]}" 2>/dev/null || :
		unset "ask_in[$1]" "ask_out[$1]" "client[$1]"
	fi
	if [ -e "${dir[$1]}/postmaster.pid" ]; then
		as_user pg_ctl -s -w -m immediate -D "${dir[$1]}" stop || :
	fi
	# Under valgrind it writes files after its pid file is gone.
	while [ -n "${postmaster[$1]:-}" ] && kill -0 "${postmaster[$1]}" 2>/dev/null; do
		sleep 0.1
	done
	rm -rf "${dir[$1]}"
	unset "dir[$1]" "postmaster[$1]"
}

# Nothing of a part outlives it.
end_part()
{
	local p

	for p in "${held[@]}"; do
		kill -CONT "$p" 2>/dev/null || :
	done
	for p in "${children[@]}"; do
		kill "$p" 2>/dev/null || :
		wait "$p" 2>/dev/null || :
	done
	held=() children=()
	for p in "${!dir[@]}"; do
		stop "$p"
	done
}

# find_process SERVER TITLE: sets pid
find_process()
{
	local i

	for ((i = 0; i < 100; i++)); do
		pid=$(pgrep -P "${postmaster[$1]}" -f "$2") && return
		sleep 0.1
	done
	die "server $1 has no process \"$2\": $(tail -3 "${dir[$1]}/log")"
}

find_sampler()
{
	case $1 in
	peer*) find_process "$1" 'pg_wait_sampling collector' ;;
	*) find_process "$1" 'pg_waitscope sampler' ;;
	esac
}

# boot_both SUFFIX SETTING...: one of ours and, if wanted, one of the peer's;
# sets sides to the names of both
boot_both()
{
	sides=("ours$1")
	boot "ours$1" "${ours[@]}" "${@:2}"
	ask "ours$1" 'CREATE EXTENSION pg_waitscope'
	if [ "$peer" = yes ]; then
		sides+=("peer$1")
		boot "peer$1" "${theirs[@]}" "${@:2}"
		ask "peer$1" 'CREATE EXTENSION pg_wait_sampling'
	fi
}

# crowd SERVER N SCRIPT CONDITION: N connections that run one statement and
# stay, until N rows of pg_stat_activity fulfil the condition
crowd()
{
	local i

	printf '%s\n' "$3" >"$scratch/crowd.sql"
	start_pgbench "$1" -c "$2" -T 100000 -f "$scratch/crowd.sql"
	for ((i = 0; i < 600; i++)); do
		ask "$1" "SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend'
			  AND application_name = 'pgbench' AND $4"
		[ "$reply" -lt "$2" ] || return 0
		sleep 0.1
	done
	die "server $1: only $reply of $2 connections"
}

idle_crowd()
{
	crowd "$1" "$2" $'SELECT 1;\n\\sleep 100000 s' \
		"state = 'idle' AND wait_event = 'ClientRead'"
}

waiting_crowd()
{
	crowd "$1" "$2" 'SELECT pg_sleep(100000);' "wait_event = 'PgSleep'"
}

# start_empty PERIOD_US: sets pid and counters
start_empty()
{
	counters=$scratch/counters-${#children[@]}
	"$scratch/empty_loop" "$1" "$counters" &
	pid=$!
	children+=("$pid")
}

# read_counters FILE: sets ticks and missed
read_counters()
{
	read -r -d '' ticks missed < <(od -An -td8 "$1") || :
}

# hold PID...: until its slice comes
hold()
{
	kill -STOP "$@"
	held+=("$@")
}

# Microseconds, into now.
read_now()
{
	now=${EPOCHREALTIME/[.,]/}
}

# CPU time of a process in ns, into cpu.
read_cpu()
{
	read -r cpu _ <"/proc/$1/schedstat"
}

# put SERIES ROUND VALUE
put()
{
	printf '%s\t%s\t%s\n' "$part/$1" "$2" "$3" >>"$out/raw.tsv"
}

# slice PID SECONDS: sets share to its CPU time per second, in ns
slice()
{
	local cpu0 t0

	kill -CONT "$1"
	sleep 0.15
	read_cpu "$1"
	cpu0=$cpu
	read_now
	t0=$now
	sleep "$2"
	read_cpu "$1"
	read_now
	kill -STOP "$1"
	share=$(((cpu - cpu0) * 1000000 / (now - t0)))
}

# take_turns SERIES ROUNDS SECONDS NAME=PID...: CPU time of processes, each in
# turn while the others are stopped; who is first changes from round to round
take_turns()
{
	local series=$1 rounds=$2 seconds=$3 round i who

	shift 3
	for who; do
		hold "${who#*=}"
	done
	for ((round = 1; round <= rounds; round++)); do
		for ((i = 0; i < $#; i++)); do
			who=${*:(i + round) % $# + 1:1}
			slice "${who#*=}" "$seconds"
			put "$series/${who%%=*}" "$round" "$share"
		done
	done
}

# wait_for PID...: waits for them, each must end well
wait_for()
{
	local p

	for p; do
		wait "$p" || die "a client failed"
	done
}

# Statements, a line each, that make the functions of wsc_bench.c.
print_functions()
{
	local f

	for f in 'clock() RETURNS bigint' \
		'duty(int, int, int, int) RETURNS float8' \
		'keys(int, int, int, bool) RETURNS void' \
		'lock(text, int) RETURNS float8' 'scan(int) RETURNS float8' \
		'look(int, bool) RETURNS float8[]'; do
		printf "CREATE FUNCTION wsc_bench_%s AS 'wsc_bench' LANGUAGE C;\n" "$f"
	done
}

# compute EXPRESSION
compute()
{
	awk "BEGIN { printf \"%.10g\", $1 }"
}

# Significant digits, no exponent.
number()
{
	awk -v v="$1" 'BEGIN {
		a = v < 0 ? -v : v
		d = a == 0 ? 0 : a < 2 ? 4 : a < 10 ? 3 : a < 100 ? 1 : 0
		printf "%.*f", d, v }'
}

# write_row WHAT FIGURE REFERENCE RATIO TARGET VERDICT
write_row()
{
	local IFS=$'\t'

	printf '%s\n' "$part"$'\t'"$*" >>"$out/rows.tsv"
	printf '%-54s| %-28s| %-22s| %-21s| %-10s| %s\n' "$@"
}

# row WHAT UNIT SCALE OP TARGET SERIES [REFERENCE [ITS NAME]]
row()
{
	local what=$1 unit=$2 scale=$3 op=$4 target=$5 series=$part/$6
	local ref=${7:-} name=${8:-} figure ratio=- goal=- other=- s

	IFS=$'\t' read -r -a s < <("$here/stats.pl" "$out/raw.tsv" "$scale" "$op" \
		"$target" "$series" ${ref:+"$part/$ref"}) || die "no figures for: $what"
	figure=$(with_interval "${s[0]}" "${s[1]}" "${s[2]}" "$unit")
	if [ -n "$ref" ]; then
		other="$(number "${s[3]}")$unit, ${name:-${ref##*/}}"
		ratio=$(with_interval "${s[4]}" "${s[5]}" "${s[6]}")
		unit=' x'
	fi
	case $op in
	-) ;;
	near*) goal="${op#near } +- $target" ;;
	*) goal="$op $target$unit" ;;
	esac
	write_row "$what" "$figure" "$other" "$ratio" "$goal" "${s[7]}"
}

# with_interval MEDIAN LOW HIGH [UNIT]
with_interval()
{
	printf '%s%s' "$(number "$1")" "${4:-}"
	[ "$2" = "$3" ] || printf ' [%s, %s]' "$(number "$2")" "$(number "$3")"
}

not_measured()
{
	write_row "$1" 'not measured' "$2" - - -
}
