#!/bin/bash
# pythons.sh: prints the CPythons that tests can run, one a line: a name, the root folder that it
# runs in ("/": none), and its path there, or the name of a library for a program that loads it.
# Those of Debian are unpacked below $DEPS/pythons once, with what they need; their packages are
# signed. Releases that Debian has no longer are taken from pyenv, if that is there, and others from
# $DEPS/pythons/built-NAME/bin, where whoever has one may put it. PYTHONS="3.11 sid-python3.14": only
# those whose names contain one of these.
#
# Not to be had from Debian: 3.6 to 3.8, 3.10 and 3.12 without pyenv; free-threaded and tail-calling
# builds, python-build-standalone, conda, and musl's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
base=${DEPS:?}/pythons

chosen() {
	local part
	[ -n "${PYTHONS:-}" ] || return 0
	for part in $PYTHONS; do
		[[ $1 != *"$part"* ]] || return 0
	done
	return 1
}

# debian SUITE PYTHON [PACKAGE]
debian() {
	chosen "debian-$1-$2" || return 0
	if "$here"/../interpreters/tree.sh "$base/$1-$2" "$1" "${3:-$2}"; then
		echo "debian-$1-$2 $base/$1-$2 /usr/bin/$2"
	fi
}

# library SUITE PYTHON
library() {
	chosen "debian-$1-lib$2" || return 0
	if "$here"/../interpreters/tree.sh "$base/$1-lib$2" "$1" "$2" "lib$2"; then
		echo "debian-$1-lib$2 $base/$1-lib$2 lib$2.so.1.0"
	fi
}

for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
	[ -x "$python" ] || continue
	version=${python%/bin/python3}
	! chosen "pyenv-${version##*/}" || echo "pyenv-${version##*/} / $python"
done
for python in "$base"/built-*/bin/python3.*[0-9t]; do
	name=$(basename "${python%/bin/*}")
	[ ! -x "$python" ] || ! chosen "$name" || echo "$name / $python"
done
debian bullseye python3.9
debian bookworm python3.11
debian trixie python3.13
debian trixie python3.13d python3.13-dbg
for release in 3.14 3.15; do
	debian sid python$release
	debian sid python${release}d python$release-dbg
done
library bookworm python3.11
library sid python3.15
