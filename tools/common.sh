# Sourced by the other tools: where things are, and how to say that they
# are not; a copy of tree and server to work in; who runs the server.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Prints the pg_config to build with: $PG_CONFIG, else the one in PATH, else
# the newest of Debian's; only one that has a server and PGXS will do.
find_pg_config()
{
	local pgc

	if [ -n "${root:-}" ]; then
		pgc=$(printf '%s\n' "$root"/usr/lib/postgresql/*/bin/pg_config)
		echo "${pgc#"$root"}"
		return
	fi
	if [ -n "${PG_CONFIG:-}" ]; then
		is_complete "$PG_CONFIG" ||
			die "PG_CONFIG=$PG_CONFIG leads to no server with PGXS"
		command -v "$PG_CONFIG"
		return
	fi
	for pgc in "$(command -v pg_config)" \
		$(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config | sort -rV); do
		if is_complete "$pgc"; then
			echo "$pgc"
			return
		fi
	done
	return 1
}

is_complete()
{
	local bindir pgxs

	bindir=$("$1" --bindir 2>/dev/null) && pgxs=$("$1" --pgxs) &&
		[ -x "$bindir/postgres" ] && [ -e "$pgxs" ]
}

# make_scratch NAME: makes $scratch, with a copy of the tree in $scratch/src and
# one of the server in $scratch/pg, where $pg_config is and which can be
# installed into: neither the tree nor the machine's server is written to, and
# any number of us can be at work.  All of it belongs to an unprivileged user,
# as whom as_user runs commands: PostgreSQL refuses to run as root.  Nobody else
# can look inside, hence nobody else reaches a server that trusts who comes.
# With $root set, the server is the one there and commands are run there.
make_scratch()
{
	local pgc dir from user=

	# On a disk: WAL in memory would never be waited for.
	scratch=$(mktemp -d "/var/tmp/pg_waitscope-$1.XXXXXX")
	mkdir "$scratch/src" "$scratch/pg"
	tar -C "$top" -c --exclude=./.git --exclude='*.o' --exclude='*.so' \
		--exclude='./tmp_*' --exclude=./log --exclude=./results \
		--exclude=./output_iso --exclude='./regression.*' . |
		tar -C "$scratch/src" -x --no-same-owner --no-same-permissions
	pgc=$(find_pg_config) || die "no server with PGXS"
	for dir in --bindir --pkglibdir --sharedir --includedir-server; do
		from=$(in_root "$pgc" $dir)
		mkdir -p "$scratch/pg$(dirname "$from")"
		cp -a "${root:-}$from" "$scratch/pg$from"
	done
	bindir=$scratch/pg$(in_root "$pgc" --bindir)
	pg_config=$bindir/pg_config

	drop=()
	if [ "$(id -u)" = 0 ]; then
		for user in postgres nobody; do
			! id "$user" >/dev/null 2>&1 || break
		done
		drop=(setpriv "--reuid=$(id -u $user)" "--regid=$(id -g $user)" --clear-groups)
		if [ -n "${root:-}" ]; then
			mkdir "$scratch/tmp"
			echo "postgres:x:$(id -u $user):$(id -g $user)::/:/bin/sh" >"$scratch/passwd"
			drop=(unshare --mount bash -c "$enter_root" enter "$root" "$scratch"
				"$(id -u $user):$(id -g $user)")
		fi
		chown -R "$user:$(id -g $user)" "$scratch"
	fi
	[ "$(as_user "$pg_config" --bindir)" = "$bindir" ] || move_pg_config
}

# Debian's pg_config of 13 says where it was installed, not where it lies.
move_pg_config()
{
	mv "$pg_config" "$pg_config.installed"
	cat >"$pg_config" <<-WRAPPER
		#!/bin/sh
		said=\$("$pg_config.installed" "\$@") || exit
		printf '%s\n' "\$said" | sed 's#/usr/[a-z]*/postgresql#$scratch/pg&#g'
	WRAPPER
	chmod 755 "$pg_config"
	[ "$(as_user "$pg_config" --bindir)" = "$bindir" ] ||
		die "$pgc does not say where its copy lies: it cannot be installed into"
}

in_root()
{
	if [ -n "${root:-}" ]; then chroot "$root" "$@"; else "$@"; fi
}

# Nothing is written to the root: what a command may write to lies outside,
# at the same path, and is mounted for that command only.
# shellcheck disable=SC2016
enter_root='
	set -e
	root=$1 scratch=$2 user=$3
	shift 3
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount --bind /var/tmp "$root/var/tmp"
	mount --bind "$scratch/tmp" "$root/tmp"
	mount --bind "$scratch/passwd" "$root/etc/passwd"
	exec chroot --userspec="$user" --groups= "$root" "$@"'

# Nothing of the caller's environment but what a terminal needs, $oldinstall
# (see tools/old-server), and $more_env.
more_env=()
as_user()
{
	"${drop[@]}" env -i -C "$scratch/src" "TERM=${TERM:-dumb}" LC_ALL=C.UTF-8 \
		"PATH=$bindir:/usr/local/bin:/usr/bin:/bin" "HOME=$scratch" PAGER=cat \
		"PG_CONFIG=$pg_config" "PGHOST=$scratch" PGPORT=5432 PGUSER=postgres \
		PGDATABASE=postgres PGCTLTIMEOUT=300 ${oldinstall:+"oldinstall=$oldinstall"} \
		"${more_env[@]}" "$@"
}

# start_server SETTING...: a server in $scratch/data, on a socket in $scratch
start_server()
{
	as_user initdb -D "$scratch/data" -U postgres -A trust -E UTF8 --no-locale --no-sync \
		>"$scratch/initdb.log" 2>&1 || die "initdb failed: $(cat "$scratch/initdb.log")"
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$scratch'" \
		'port = 5432' "$@" >>"$scratch/data/postgresql.conf"
	as_user pg_ctl -D "$scratch/data" -l "$scratch/server.log" -w start >/dev/null ||
		die "the server does not start: $(cat "$scratch/server.log")"
}

remove_scratch()
{
	[ -n "${scratch:-}" ] || return 0
	if [ -e "$scratch/data/postmaster.pid" ]; then
		as_user pg_ctl -D "$scratch/data" -m immediate -w stop >/dev/null
	fi
	rm -rf "$scratch"
}
