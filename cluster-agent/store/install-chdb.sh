#!/bin/sh
# Installs the version of libchdb.so that package-lock.json pins, once for all checkouts, below
# DEPS, the folder for third-party packages. Does nothing if it is installed. With --print, prints
# its path. Needs npm of Node.js.
set -eu
cd "$(dirname "$0")"
if [ "$(uname -m)" != x86_64 ]; then
	echo "install-chdb: there is no pinned libchdb.so for $(uname -m)" >&2
	exit 1
fi
DEPS=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
hash=$(sha256sum package-lock.json | cut -c1-12)
dir=$DEPS/chdb-$hash
lib=$dir/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so
if [ ! -f "$lib" ]; then
	command -v npm >/dev/null || {
		echo "install-chdb: npm is missing; 'make deps' installs it" >&2
		exit 1
	}
	mkdir -p "$DEPS"
	new=$(mktemp -d "$DEPS/chdb.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	cp package.json package-lock.json "$new/"
	printf 'install-chdb: the embedded ClickHouse engine, 550 MB … ' >&2
	if ! (cd "$new" && npm ci --ignore-scripts --no-audit --no-fund) >"$new/log" 2>&1; then
		echo 'failed' >&2
		cat "$new/log" >&2
		exit 1
	fi
	chmod 755 "$new"
	# another checkout may have installed the same version meanwhile
	mv -T "$new" "$dir" 2>/dev/null || [ -f "$lib" ]
	echo 'done' >&2
fi
[ "${1:-}" != --print ] || echo "$lib"
