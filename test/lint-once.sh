#!/bin/bash
# lint-once.sh DEPENDENCIES [FILE...] -- COMMAND...: runs a static check unless it has passed
# before, in this or another checkout, with the same command and tool on the same content of all
# files: those that the compiler has listed in DEPENDENCIES (a .d file, with all headers of the
# system) and FILE... What has passed is an empty file in $DEPS/lint.
set -eu
list=$1
shift
files=()
while [ "$1" != -- ]; do
	files+=("$1")
	shift
done
shift
# the first rule of the list; the rest are headers without a recipe
mapfile -t -O "${#files[@]}" files < <(awk '{ more = sub(/ \\$/, ""); sub(/^[^ ]*:/, ""); print } !more { exit }' "$list" | tr -s ' ' '\n' | grep .)
key=$({ "$1" --version; printf '%s\n' "$@" "${files[@]}"; cat "${files[@]}"; } | sha256sum | cut -d' ' -f1)
passed=${DEPS:?}/lint/$key
if [ -e "$passed" ]; then
	touch "$passed" # the oldest are removed
	exit 0
fi
"$@"
mkdir -p "$DEPS/lint"
: >"$passed"
