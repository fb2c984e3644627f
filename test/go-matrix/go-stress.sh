#!/bin/bash
# go-stress.sh CHECK_STRESS GO: repeatedly reads half a million records of a heap that grows, with
# one garbage collection after the other. The profiles must add up to what the program reports at
# the end. GO_STRESS="release records seconds" changes the program.
set -u
check=$1 go=$2
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
service=$here/../bench/go_service
read -r version records seconds <<<"${GO_STRESS:-1.27.4 500000 6}"
out=$(kept_in go-heap-targets ../bench/go_service)/$version

if [ ! -e "$out/go_service" ]; then
	mkdir -p "$out" &&
		cp "$service"/go_service.go "$service"/go.mod "$work" &&
		"$go" run "$service/make_paths.go" >"$work/paths.go" &&
		build go_service "$work" 0 || exit 1
fi
mkfifo "$work/in" "$work/out"
"$out/go_service" "$records" 10 1 <"$work/in" >"$work/out" &
pid=$!
exec 8>"$work/in" 9<"$work/out"
read -r -u 9 _
echo "grow $seconds" >&8
printf '  go%-8s %s records ' "$version" "$records"
"$check" "$pid" <&9
count $?
report "go stress"
