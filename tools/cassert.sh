# Sourced by tools/matrix: a PostgreSQL server with assertions, built from the
# sources that Debian has, and kept in $cache.  See tools/roots.sh.

# prepare_cassert MAJOR: sets $PG_CONFIG to such a server of that version.
prepare_cassert()
{
	local prefix=$cache/cassert-$1
	PG_CONFIG=$prefix/bin/pg_config
	mkdir -p "$cache"
	exec 8>"$prefix.lock"
	flock -s 8
	! has_assertions "$prefix" || return 0
	flock 8
	has_assertions "$prefix" || make_cassert "$1" "$prefix" || return
	flock -s 8
}

# Whether the build in FOLDER was finished, and still works.
has_assertions()
{
	[ -s "$1/stamp" ] && "$1/bin/postgres" --version >/dev/null 2>&1 &&
		is_complete "$1/bin/pg_config" &&
		"$1/bin/pg_config" --configure | grep -q -e --enable-cassert
}

# make_cassert MAJOR FOLDER: tells what is said only if it fails.
make_cassert()
{
	local suite work=$2.new began=$SECONDS
	rm -rf "$work"
	mkdir "$work"
	for suite in $debian_suites; do
		use_suite "$suite" deb-src && fetch_source "postgresql-$1" "$work" && break
	done
	if build_cassert "$2" "$work" >"$work/log" 2>&1; then
		echo "-- built a PostgreSQL $1 with assertions in $((SECONDS - began)) s"
	else
		tail -n 50 "$work/log"
	fi
	rm -rf "$work"
	[ -s "$2/stamp" ]
}

# fetch_source PACKAGE FOLDER
fetch_source()
{
	apt-cache "${apt[@]}" showsrc "$1" 2>/dev/null | grep -q . &&
		(cd "$2" && try apt-get "${apt[@]}" source --download-only --tar-only "$1" >&2)
}

# build_cassert FOLDER WORK: from the archive in WORK
build_cassert()
(
	local module
	rm -rf "$1"
	cd "$2" && tar -xf postgresql-*.orig.tar.* && cd postgresql-*/ &&
		./configure -q "--prefix=$1" --enable-cassert --enable-tap-tests \
			--without-readline --without-zlib --without-icu \
			CFLAGS='-O1 -fno-omit-frame-pointer' &&
		make -s -j "$(nproc)" && make -s install || return
	for module in pg_stat_statements auto_explain; do
		make -s -C "contrib/$module" install || return
	done
	"$1/bin/postgres" --version >"$1/stamp"
)
