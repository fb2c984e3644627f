#!/bin/bash
# "make check-clean-machine": tries each of the README's two commands on a plain Debian 12, in a
# tree of its own and with nothing cached, so that every package, toolchain and third-party build
# comes from its origin. Takes up to an hour; for when deps.sh, a lock file or a pinned version
# changes. CI does the same with caches (.ci/run).
#
#   test/setup/clean-machine.sh [run|test]    only one of the two
set -u
cd "$(dirname "$0")/../.." || exit 1
what=${1:-both}
status=0

try()
{
	local name=$1 started=$SECONDS
	shift
	echo "== make $name on a plain Debian 12"
	test/setup/debian-tree.sh "clean-$name" "$@" || status=1
	echo "== make $name took $((SECONDS - started)) s"
}
case $what in
both | run | test) ;;
*) echo "usage: clean-machine.sh [run|test]" >&2; exit 2 ;;
esac
[ "$what" = test ] || try run test/setup/try-run.sh
[ "$what" = run ] || try test make test
exit $status
