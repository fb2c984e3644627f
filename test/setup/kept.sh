# shellcheck shell=bash
# What tests fetch or build from pinned sources is kept in $DEPS by the hash of all that decides
# about the result. Sourced by bash.

# kept FOLDER/NAME BUILD FILE...: prints the folder $DEPS/FOLDER/NAME-HASH, where HASH is that of
# the files. If it is not there, the function BUILD makes it: it is called with an empty folder,
# which gets its name when BUILD has succeeded. Several at a time wait for the first. The script has
# "set -e" and calls this by itself, not as part of a condition, where bash would go on after a
# command of BUILD that has failed, and keep half of it.
kept()
{
	local base=${DEPS:?}/$1 build=$2 dir new status
	shift 2
	dir=$base-$(cat "$@" | sha256sum | cut -c1-12)
	if [ ! -d "$dir" ]; then
		mkdir -p "${base%/*}"
		exec 9>"$base.lock"
		flock 9
	fi
	if [ ! -d "$dir" ]; then
		new=$dir.new
		rm -rf "$new"
		mkdir "$new"
		echo "deps: ${base##*/}, for tests (${base%/*})" >&2
		# "$(kept …)" clears -e, which BUILD must have
		(
			set -e
			"$build" "$new"
		) >&2
		status=$?
		[ "$status" -eq 0 ] || return "$status"
		mv -T "$new" "$dir"
	fi
	echo "$dir"
}
