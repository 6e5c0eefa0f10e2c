# Sourced by tools/matrix: folders to chroot into, each with one version of
# PostgreSQL as Debian ships it and what building and testing need, made by
# unpacking packages: no script of a package is ever run.  All is kept in
# $cache; the machine's own apt is only asked for its mirror.
umask 022

cache=${PG_WAITSCOPE_CACHE:-/var/cache/pg_waitscope}

# Asked in this order for a version; main of each only.  The newest of sid and
# experimental counts: a release candidate moves from there to here.
debian_suites='bullseye bookworm trixie forky sid+experimental'

packages=(base-files base-passwd bash dash coreutils diffutils findutils grep
	sed libc-bin hostname procps tzdata make gcc libc6-dev perl libipc-run-perl)

# try COMMAND...: three times, until something has failed for good
tries=3
try()
{
	local i
	for ((i = 1; i <= tries; i++)); do
		"$@" && return
		[ $i = $tries ] || sleep $((i * 5))
	done
	return 1
}

# The mirror of the machine's own sources.
mirror()
{
	local first
	first=$({
		sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' \
			/etc/apt/sources.list /etc/apt/sources.list.d/*.list
		sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources | tr ' ' '\n'
	} 2>/dev/null | grep -m 1 -E '/debian/?$')
	echo "${first:-http://deb.debian.org/debian}"
}

# use_suite SUITE [deb-src]: sets $state, and $apt to what follows apt-get or
# apt-cache for the packages, or sources, of the suite, with lists not older
# than an hour.  The machine's own state of apt is neither read nor written;
# its settings (a proxy) hold.
use_suite()
{
	local from type=${2:-deb}
	state=$cache/apt/$1${2:+-src}
	mkdir -p "$state"/{preferences.d,lists/partial,archives/partial}
	[ -e "$state/status" ] || : >"$state/status"
	for from in ${1/+/ }; do
		printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
			"$type" "$(mirror)" "$from"
	done | put "$state/sources.list"
	# By itself apt takes nothing from experimental that sid has, too.
	printf 'Package: postgresql* libpq5\nPin: release a=experimental\nPin-Priority: 500\n' |
		put "$state/preferences.d/experimental"
	apt=(-qq -o "Dir::Etc=$state" -o "Dir::State=$state"
		-o "Dir::State::status=$state/status" -o "Dir::Cache=$state"
		-o APT::Update::Error-Mode=any -o APT::Sandbox::User=root
		-o APT::Install-Recommends=false -o Acquire::Languages=none
		-o Acquire::Retries=0 -o Acquire::http::Timeout=20 -o Acquire::Check-Valid-Until=false
		-o Acquire::Check-Date=false -o Debug::NoLocking=true)
	(
		flock 9
		[ -n "$(find "$state/updated" -mmin -60 2>/dev/null)" ] ||
			{ try apt-get "${apt[@]}" update && touch "$state/updated"; }
	) 9>"$state/lock" >&2 || { tries=1; return 1; }
}

# put FILE: its new content is there at once, for others that read it.
put()
{
	cat >"$1.$$" && mv "$1.$$" "$1"
}

# Prints the version of package $1 that the suite in use has.
version_of()
{
	apt-cache "${apt[@]}" policy "$1" |
		sed -n 's/^  Candidate: \([0-9].*\)/\1/p' | grep .
}

# stand_in MAJOR FOLDER: makes FOLDER/stand-in.deb, which takes the place of
# packages that a test never uses: LLVM, Debian's tools for clusters, ...
stand_in()
{
	local llvm
	llvm=$(apt-cache "${apt[@]}" show --no-all-versions \
		"postgresql-$1" "postgresql-server-dev-$1" | sed -n 's/^Depends: //p' |
		grep -oE '(clang|llvm|libllvm)-?[0-9]+(-dev)?' | sort -u |
		sed 's/$/ (= 1:999),/')
	mkdir -p "$2/stand-in/DEBIAN"
	cat >"$2/stand-in/DEBIAN/control" <<-CONTROL
		Package: stand-in
		Version: 1
		Architecture: all
		Maintainer: nobody <root@localhost>
		Provides: ${llvm//$'\n'/ } postgresql-common (= 999),
		 postgresql-client-common (= 999), ssl-cert, locales, libpq-dev (= 99),
		 sensible-utils, debconf (= 99), debconf-2.0
		Description: stand-in
	CONTROL
	dpkg-deb -b --root-owner-group "$2/stand-in" "$2/stand-in.deb" >/dev/null
}

# fetch_packages MAJOR FOLDER: with all they depend on, into FOLDER/archives
fetch_packages()
{
	local wanted=("${packages[@]}" "postgresql-$1" "postgresql-server-dev-$1")
	local neighbour=postgresql-$1-pg-wait-sampling
	! version_of "$neighbour" >/dev/null || wanted+=("$neighbour")
	mkdir -p "$2/archives/partial"
	stand_in "$1" "$2" || return
	try apt-get "${apt[@]}" -y -o "Dir::Cache::archives=$2/archives" \
		--download-only install "$2/stand-in.deb" "${wanted[@]}" >&2
}

# unpack FOLDER ROOT: the packages in FOLDER/archives, less what documents
unpack()
{
	local base deb dir
	base=$(printf '%s\n' "$1"/archives/base-files_*.deb)
	mkdir -p "$2"
	dpkg-deb -x "$base" "$2" || return
	# Where /usr is merged, packages count on these links.
	if dpkg --compare-versions "$(dpkg-deb -f "$base" Version)" ge 12; then
		for dir in bin sbin lib lib64; do
			mkdir -p "$2/usr/$dir"
			[ -e "$2/$dir" ] || ln -s "usr/$dir" "$2/$dir"
		done
	fi
	for deb in "$1"/archives/*.deb; do
		[ "$deb" = "$base" ] || printf '%s\0' "$deb"
	done | xargs -0 -P 2 -I '{}' bash -o pipefail -c '
		dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink \
			--exclude=./usr/share/{doc,man,info} --exclude="./usr/share/locale/*"
		' unpack '{}' "$2"
}

# What the scripts of packages would have made.
furnish()
{
	local device dir
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
	cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
	[ -e "$1/bin/sh" ] || ln -s dash "$1/bin/sh"
	# Before 15 statistics, and with them autovacuum, need a name to bind to.
	echo '127.0.0.1 localhost' >"$1/etc/hosts"
	for dir in proc dev dev/shm tmp var/tmp; do
		mkdir -p "$1/$dir"
	done
	for device in null:3 zero:5 random:8 urandom:9; do
		[ -e "$1/dev/${device%:*}" ] ||
			mknod -m 666 "$1/dev/${device%:*}" c 1 "${device#*:}" || return
	done
	ln -sfn /proc/self/fd "$1/dev/fd"
	chroot "$1" /sbin/ldconfig
}

# Whether ROOT has been finished, with MAJOR, and still works.
is_healthy()
{
	local bindir=/usr/lib/postgresql/$2/bin command
	[ -s "$1/stamp" ] || return
	for command in "$bindir/postgres --version" "$bindir/pg_config --pgxs" \
		'make --version' 'perl -MIPC::Run -e 1'; do
		# shellcheck disable=SC2086
		chroot "$1" env -i PATH=/usr/bin:/bin $command >/dev/null 2>&1 || return
	done
	printf 'int\nmain(void)\n{\n\treturn 0;\n}\n' |
		chroot "$1" env -i PATH=/usr/bin:/bin gcc -fPIC -shared -x c -o /dev/null - \
		2>/dev/null
}

# make_root MAJOR ROOT STAMP: from the suite in use.  The stamp is written
# last, and nothing is replaced by what does not work.
make_root()
{
	local new=$2.new
	rm -rf "$new"
	mkdir -p "$new"
	if fetch_packages "$1" "$new" && unpack "$new" "$new/root" &&
		furnish "$new/root" && echo "$3" >"$new/root/stamp" &&
		is_healthy "$new/root" "$1"; then
		rm -rf "$2"
		mv "$new/root" "$2"
	fi
	rm -rf "$new"
	[ "$(cat "$2/stamp" 2>/dev/null)" = "$3" ]
}

# prepare_root MAJOR: sets $root to a folder with the newest server of that
# major version that is to be had, and says what it did.  It stays locked
# against being replaced until we end.
prepare_root()
{
	local suite version stamp kept='' why='the mirror cannot be reached'
	root=$cache/$1
	mkdir -p "$cache"
	exec 8>"$root.lock"
	flock -s 8
	! is_healthy "$root" "$1" || kept=$(<"$root/stamp")
	for suite in $debian_suites; do
		use_suite "$suite" || continue
		why='no suite of the mirror has it'
		version=$(version_of "postgresql-server-dev-$1") || continue
		stamp="$version of $suite, made by $(cksum <"${BASH_SOURCE[0]}")"
		[ "$kept" != "$stamp" ] || return 0
		if replace_root "$1" "$stamp"; then
			echo "$1: made a root with $version of $suite in $SECONDS s"
			return
		fi
		why="$version of $suite cannot be had"
	done
	echo "$1: $why${kept:+; the kept root with ${kept%, *} is used}"
	[ -n "$kept" ]
}

# The same root may be in use, or being made, by another run.
replace_root()
{
	local status=0
	flock 8
	{ [ "$(cat "$root/stamp" 2>/dev/null)" = "$2" ] && is_healthy "$root" "$1"; } ||
		make_root "$1" "$root" "$2" || status=1
	flock -s 8
	return $status
}
