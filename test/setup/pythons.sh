#!/bin/bash
# pythons.sh: prints the CPythons that tests can run, one a line: a name, the root folder that it
# runs in ("/": none), and its path there, or the name of a library for a program that loads it.
# Those of Debian and Ubuntu are unpacked below $DEPS/pythons once, with what they need; their packages
# are signed. Releases that Debian has no longer are taken from pyenv, if that is there, and others from
# $DEPS/pythons/built-NAME/bin, where whoever has one may put it. PYTHONS="3.11 sid-python3.14": only
# those whose names contain one of these.
#
# Not to be had this way: 3.6 to 3.8 without pyenv; free-threaded and tail-calling builds,
# python-build-standalone, conda, and musl's.
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

# of DISTRIBUTION SUITE PYTHON [PACKAGE]
of() {
	chosen "$1-$2-$3" || return 0
	if "$here"/../interpreters/tree.sh "$base/$2-$3" "$2" "${4:-$3}"; then
		echo "$1-$2-$3 $base/$2-$3 /usr/bin/$3"
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
of debian bullseye python3.9
of debian bookworm python3.11
of debian trixie python3.13
of debian trixie python3.13d python3.13-dbg
for release in 3.14 3.15; do
	of debian sid python$release
	of debian sid python${release}d python$release-dbg
done
of ubuntu jammy python3.10
of ubuntu noble python3.12
of ubuntu resolute python3.14
library bookworm python3.11
library sid python3.15
