# Sourced by tools/test and tools/matrix: runs suites in what make_scratch made,
# counts their tests, and prints one line for each suite.

passed=0
failed=0
began=0
label=
variant=
make_args=()

# count SUITE PASSED FAILED: what is said of a suite that has ended
count()
{
	passed=$((passed + $2))
	failed=$((failed + $3))
	echo "== $label $1: $2 passed, $3 failed, $((SECONDS - began)) s"
}

# Number of lines of $log that match.
matches()
{
	grep -cE "$1" "$log"
}

# step NAME COMMAND...: runs it as the unprivileged user with its output in
# $log, and shows that if it fails, less the passed tests of TAP.
step()
{
	local name=$1 status
	shift
	log=$scratch/log/$name
	began=$SECONDS
	as_user timeout 1800 "$@" >"$log" 2>&1
	status=$?
	[ $status != 0 ] || return 0
	grep -v '^ok [0-9]' "$log"
	echo "-- $label $name ended with $status: $*"
	return 1
}

# name_server: sets $major, $variant if it is not set, and $label; makes a
# folder for logs.
name_server()
{
	label=$(as_user pg_config --version | sed 's/^PostgreSQL \([^ ]*\).*/\1/')
	major=$(sed 's/^\([0-9]*\).*/\1/' <<<"$label")
	case $variant in
	'') variant=$major ;;
	"$major") ;;
	*) label="$label $variant" ;;
	esac
	as_user mkdir "$scratch/log"
	share_initdb
}

# Tests make some 60 clusters: those with the same options are copies of one.
# Options with a path are not the same for all.
share_initdb()
{
	mv "$bindir/initdb" "$bindir/initdb.real"
	cat >"$bindir/initdb" <<-WRAPPER
		#!/bin/bash
		real=\$0.real
		templates=$scratch/initdb
		options=() data=
		given=("\$@")
		while [ \$# -gt 0 ]; do
			case \$1 in
			-D | --pgdata) data=\$2; shift ;;
			*/*) exec "\$real" "\${given[@]}" ;;
			*) options+=("\$1") ;;
			esac
			shift
		done
		if [ -z "\$data" ] || [ -n "\$(ls -A "\$data" 2>&-)" ]; then
			exec "\$real" "\${given[@]}"
		fi
		mkdir -p "\$templates" || exit
		template=\$templates/\$(md5sum <<<"\${options[*]}" | cut -c 1-32)
		if [ ! -e "\$template" ]; then
			"\$real" -D "\$template.\$\$" "\${options[@]}" || exit
			mv -T "\$template.\$\$" "\$template" || exit
		fi
		rmdir "\$data" 2>&-
		mkdir -p "\$(dirname "\$data")" && cp -a "\$template" "\$data"
	WRAPPER
	chmod 755 "$bindir/initdb"
}

# A step that is one test.
single()
{
	if step "$@"; then count "$1" 1 0; else count "$1" 0 1; fi
}

# A step that says "ok - " or "not ok - " of each of its tests.
listed()
{
	local ended=1 bad
	step "$@" && grep '^ok - ' "$log" || ended=0
	bad=$(matches '^not ok - ')
	[ "$ended" = 1 ] || [ "$bad" -gt 0 ] || bad=1
	count "$1" "$(matches '^ok - ')" "$bad"
}

# show FILE...: the end of each that there is, after a failure
show()
{
	local file
	for file; do
		[ -s "$file" ] || continue
		echo "-- $label ${file#"$scratch/src/"}"
		tail -n 400 "$file"
	done
}

# Into the copy of the server; without it nothing else can be run.
build()
{
	local before=$failed
	single build make -s -j "$(nproc)" "${make_args[@]}" install-test-drivers
	[ "$failed" = "$before" ] || exit
}

# regress NAME OUTPUT_FOLDER COMMAND...: pg_regress or isolation tester, whose
# own counts are taken, since it also ends well when nothing has run.
regress()
{
	local name=$1 out=$2 ended=1 ok bad
	shift 2
	if ! step "$name" "$@"; then
		ended=0
		show "$out/regression.diffs" "$out/log/postmaster.log" "$scratch/server.log"
	fi
	# Before and since 16.
	ok=$(matches '^test .* \.\.\. ok |^ok [0-9]')
	bad=$(matches '^test .* \.\.\. FAILED|^not ok [0-9]')
	if [ "$bad" = 0 ] && { [ $ended = 0 ] || [ "$ok" = 0 ]; }; then
		echo "-- $label $name: no test ran, or not to its end"
		bad=1
	fi
	bad=$((bad + $(undefined "$out/log" "$scratch/server.log")))
	count "$name" "$ok" "$bad"
	rm -rf "$scratch"/src/tmp_* "$out/log"
}

# regress and isolation tests with servers of their own
own_regress()
{
	regress regress "$scratch/src" make installcheck ISOLATION= TAP_TESTS=
	# The packages of 13, and of no other version, lack what runs them.
	if [ "$major" = 13 ] &&
		[ -z "$(find "$scratch/pg" -name isolationtester)" ]; then
		echo "== $label isolation: none, PostgreSQL 13 comes without its tester"
	else
		regress isolation "$scratch/src/output_iso" make installcheck REGRESS= TAP_TESTS=
	fi
}

# Skips that tools/expected-skips does not list, and TODO, which hides.
unexpected()
{
	awk -v where="^($major|$variant) " '
		FILENAME ~ /expected-skips$/ {
			sub(where, "")
			if (!/^#/) expected[$0] = 1
			next
		}
		/^t\/.*\.pl \.\./ { file = $1 }
		/# *TODO/ { print file ": " $0 }
		/^ok .*# *skip/ || /^t\/.* skipped: / {
			line = file ": " $0
			sub(/: .*(# *skip|skipped:) */, ": ", line)
			if (!(line in expected)) print line
		}' "$top/tools/expected-skips" "$log"
}

# tap [FILE...]: by default all
tap()
{
	local ok bad=0 skips file files=0 only=()
	[ $# = 0 ] || only=("PROVE_TESTS=$*")
	if ! step tap make installcheck REGRESS= ISOLATION= PROVE_FLAGS='-v --nocolor' \
		"${only[@]}"; then
		for file in $(sed -n 's|^t/\(.*\)\.pl *(Wstat.*|\1|p' "$log"); do
			show "$scratch/src/tmp_check/log/"*"$file"*
			files=$((files + 1))
		done
		bad=$(grep '^not ok ' "$log" | grep -vc '# *TODO')
		[ "$bad" -ge $files ] || bad=$files
		[ "$bad" -gt 0 ] || bad=1
		sed -n '/^Test Summary Report/,$p' "$log"
	fi
	ok=$(grep '^ok ' "$log" | grep -vc '# *skip')
	if [ "$ok" = 0 ]; then
		echo "-- $label tap: no test ran"
		bad=$((bad + 1))
	fi
	skips=$(unexpected)
	if [ -n "$skips" ]; then
		printf -- '-- not in tools/expected-skips:\n%s\n' "$skips"
		bad=$((bad + $(wc -l <<<"$skips")))
	fi
	bad=$((bad + $(undefined "$scratch/src/tmp_check/log")))
	count tap "$ok" "$bad"
}

# undefined FILE...: what a sanitizer said into logs of servers; prints how
# often, and what to standard error.
undefined()
{
	local said
	said=$(grep -rhsE 'runtime error:|ERROR: AddressSanitizer' "$@" | sort | uniq -c)
	[ -z "$said" ] || echo "$said" >&2
	grep -c . <<<"$said"
}

finish()
{
	# Of dying nothing was counted.
	[ $? = 0 ] || [ "$failed" -gt 0 ] || failed=1
	[ -z "${scratch:-}" ] || remove_scratch
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit $?
}
