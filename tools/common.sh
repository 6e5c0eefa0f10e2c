# Sourced by the other tools: where things are, and how to say that they
# are not.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Prints the pg_config to build with: $PG_CONFIG, else the one in PATH, else
# the newest of Debian's; only one that comes with PGXS will do.
find_pg_config()
{
	local pgc

	if [ -n "${PG_CONFIG:-}" ]; then
		[ -e "$("$PG_CONFIG" --pgxs 2>/dev/null)" ] ||
			die "PG_CONFIG=$PG_CONFIG leads to no PGXS (server development files)"
		command -v "$PG_CONFIG"
		return
	fi
	for pgc in "$(command -v pg_config)" \
		$(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config | sort -rV); do
		if [ -x "$pgc" ] && [ -e "$("$pgc" --pgxs)" ]; then
			echo "$pgc"
			return
		fi
	done
	return 1
}
