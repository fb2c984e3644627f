#!/bin/sh
# Installs libasyncProfiler.so of the release that async-profiler.sha256 pins, once for all
# checkouts, below DEPS, the folder for third-party packages. Does nothing if it is installed. With
# --print ARCH, prints the path of the library for x86_64 or aarch64. Each serves glibc and musl.
# MAVEN_REPOSITORY names a mirror of Maven Central. Needs curl and unzip.
set -eu
cd "$(dirname "$0")"
DEPS=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
repository=${MAVEN_REPOSITORY:-https://repo1.maven.org/maven2}
read -r sum path <async-profiler.sha256
dir=$DEPS/async-profiler-$(echo "$sum" | cut -c1-12)

fail()
{
	echo "install-async-profiler: $*" >&2
	exit 1
}

# The name of the folder is that of the checksum, so a folder that is there has what is pinned.
if [ ! -d "$dir" ]; then
	for tool in curl unzip; do
		command -v $tool >/dev/null || fail "$tool is missing; 'make deps' installs it"
	done
	mkdir -p "$DEPS"
	new=$(mktemp -d "$DEPS/async-profiler.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	curl -sSfL --retry 5 --max-time 300 -o "$new/jar" "$repository/$path" ||
		fail "cannot fetch $repository/$path; MAVEN_REPOSITORY=https://… names a mirror"
	actual=$(sha256sum <"$new/jar" | cut -d ' ' -f 1)
	[ "$actual" = "$sum" ] ||
		fail "$repository/$path has the SHA-256 $actual, not $sum as pinned"
	unzip -q "$new/jar" 'linux-*/libasyncProfiler.so' -d "$new" ||
		fail "$path has no libraries for Linux"
	rm "$new/jar"
	chmod -R u=rwX,go=rX "$new"
	# another checkout may have installed the same release meanwhile
	mv -T "$new" "$dir" 2>/dev/null || [ -d "$dir" ]
	echo "install-async-profiler: fetched $repository/$path" >&2
fi
if [ "${1:-}" = --print ]; then
	case $2 in
	x86_64) echo "$dir/linux-x64/libasyncProfiler.so" ;;
	aarch64) echo "$dir/linux-arm64/libasyncProfiler.so" ;;
	*) fail "there is no libasyncProfiler.so for $2" ;;
	esac
fi
