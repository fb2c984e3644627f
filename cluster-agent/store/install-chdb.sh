#!/bin/sh
# Installs libchdb.so as package-lock.json pins it, once for all checkouts; with --print, prints
# its path. Quick when it is there. Needs Node.js' npm; DEPS is the folder for third-party packages.
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
	# whoever is first wins; the content is the same
	mv -T "$new" "$dir" 2>/dev/null || [ -f "$lib" ]
	echo 'done' >&2
fi
[ "${1:-}" != --print ] || echo "$lib"
