# shellcheck shell=bash
# What the clients are made of is fetched and built once and kept in $DEPS by the hash of all that
# decides about the result. Sourced by bash.

# kept NAME BUILD FILE...: prints the folder $DEPS/sql-clients/NAME-HASH, where HASH is that of the
# files. If it is not there, the function BUILD makes it: it is called with an empty folder, which
# gets its name when BUILD has succeeded. Several at a time wait for the first.
kept()
{
	local name=$1 build=$2 dir new
	shift 2
	dir=${DEPS:?}/sql-clients/$name-$(cat "$@" | sha256sum | cut -c1-12)
	if [ ! -d "$dir" ]; then
		mkdir -p "$DEPS/sql-clients"
		exec 9>"$DEPS/sql-clients/$name.lock"
		flock 9
	fi
	if [ ! -d "$dir" ]; then
		new=$dir.new
		rm -rf "$new"
		mkdir "$new"
		echo "deps: $name, for the tests of SQL clients" >&2
		"$build" "$new" >&2 || return 1
		mv -T "$new" "$dir"
	fi
	echo "$dir"
}
