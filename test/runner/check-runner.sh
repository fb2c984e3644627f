#!/bin/bash
# Tests the runner of the unit tests and its time limit: check-runner.sh HANGS
set -u
hangs=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
again='' # not empty: as in continuous integration

# binary NAME COMMAND: a test binary that does that
binary()
{
	printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
	chmod +x "$work/$1"
}
# run SECONDS NAME...: its status and output
run()
{
	local seconds=$1
	shift
	# shellcheck disable=SC2068 # names
	CI=$again TEST_SECONDS=$seconds JOBS=4 "$here/run-unit.sh" ${@/#/$work/} >"$work/output" 2>&1
	status=$?
}
# check SENTENCE COMMAND...
check()
{
	local what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "  ok    $what"
	else
		failed=$((failed + 1))
		echo "  FAIL  $what; the output was:"
		cat "$work/output"
	fi
}
says()
{
	grep -qE -- "$1" "$work/output"
}
fails_with()
{
	[ "$status" -ne 0 ] && says "^unit tests: $1\$"
}
nothing_is_left()
{
	# the marker is in the environment of everything that a binary starts
	! grep -qzs "^RUNNER_TEST=$work\$" /proc/[0-9]*/environ
}
export RUNNER_TEST=$work

binary good 'echo "[  PASSED  ] 2 test(s)."'
binary bad 'echo "[  PASSED  ] 1 test(s)."; echo "[  FAILED  ] 1 test(s)."; exit 1'
binary crash 'echo "[  PASSED  ] 3 test(s)."; kill -SEGV $$'
binary empty 'exit 0'
binary leaves 'setsid sleep 1000 & exit 1'
binary sleeps 'setsid sh -c "sleep 1000; :" & echo "[  PASSED  ] 5 test(s)."; wait'
binary asleep "exec $hangs asleep"
binary silent "exec $hangs silent"
binary swallowed "exec $hangs swallowed"
binary failing "exec $hangs failing"

run 60 good
check "a binary that passes" test "$status" -eq 0
check "its tests are counted" says '^unit tests: 2 passed, 0 failed, 0 skipped$'
run 60 good bad crash empty
check "failures, crashes and binaries without tests are counted" \
	fails_with '6 passed, 3 failed, 0 skipped'
# shellcheck disable=SC2016 # expanded by the binary
binary once 'test -e "$0.ran" && echo "[  PASSED  ] 1 test(s)." || { touch "$0.ran"; exit 1; }'
again=1
run 60 good bad once
check "what fails twice has failed, and what fails once has not" fails_with '4 passed, 1 failed, 0 skipped'
check "what runs again is named" says '^again: .*/once$'
again=''
cat >"$work/once.test.js" <<'END'
require("node:test").test("once", () => {
  const file = `${__filename}.ran`;
  if (require("node:fs").existsSync(file)) return;
  require("node:fs").writeFileSync(file, "");
  throw new Error("the first time");
});
END
CI=1 "$here/node-test.sh" 60 "$work/once.test.js" >"$work/output" 2>&1
check "a file of Node tests that fails once has passed" test $? -eq 0
check "its first failure is shown" says '^first: .*the first time'
check "and not counted" test "$(grep -c '^ℹ fail' "$work/output")" -eq 1
CI='' "$here/node-test.sh" 60 "$work/once.test.js" >"$work/output" 2>&1
check "elsewhere it runs once" test "$(grep -c '^ℹ pass 1' "$work/output")" -eq 1
run 60 leaves
check "what a failed binary leaves behind is killed" nothing_is_left
from=$SECONDS
run 3 good sleeps
check "a binary that hangs has failed, and others have not" \
	fails_with '7 passed, 1 failed, 0 skipped'
check "its processes are shown with their stacks" says '^==== process [0-9]+ \(sleep\)'
check "it is killed with all of its processes" nothing_is_left
run 3 asleep
check "the debugger says where a thread stands" says '^#[0-9]+ .* sleep_forever'
run 3 silent
check "a thread that waits for a file has failed" fails_with '0 passed, 1 failed, 0 skipped'
check "the kernel says where it stands" says '^-- thread [0-9]+ \(hangs\): [SD] '
check "it is killed" nothing_is_left
run 3 swallowed
check "a thread that ignores signals has failed" fails_with '0 passed, 1 failed, 0 skipped'
check "it is killed too" nothing_is_left
run 60 failing
check "a test that fails while a thread hangs ends" fails_with '0 passed, 1 failed, 0 skipped'
check "it needs no limit for that" test -z "$(grep '^limit: not done' "$work/output")"
check "limits are kept" test $((SECONDS - from)) -lt 300

# ---- the stages of "make test", with a make that only says when each of them runs ----
cat >"$work/make" <<'END'
#!/bin/bash
# -jN JOBS=N [VARIABLE=VALUE] TARGET...; $STAGE_FAILS is the target that fails
target=${*: -1}
echo "begin $target" >>"$SCHEDULE"
case $target in
check-bpf) beside=check-uploads ;;
check-uploads) beside=check-bpf ;;
*) beside= ;;
esac
sleep 0.1
# these two run at the same time if they may, however slow the machine is
for ((i = 0; i < 600; i++)); do
	[ -n "$beside" ] && [ -z "${STAGE_FAILS:-}" ] || break
	! grep -q "begin $beside\$" "$SCHEDULE" || break
	sleep 0.1
done
echo "end $target" >>"$SCHEDULE"
[ "$target" != "${STAGE_FAILS:-}" ] || exit 1
echo "3 passed, 0 failed"
END
chmod +x "$work/make"
# stages [VARIABLE=VALUE]: runs them all; "output" has what was said, "schedule" when
stages()
{
	: >"$work/schedule"
	env -u CI "$@" MAKE="$work/make" TEST_OUT="$work/stages" SCHEDULE="$work/schedule" DEPS="$work" \
		"$here/run-all.sh" >"$work/output" 2>&1
	status=$?
}
# at_once TARGET...: how many of these ran beside each other at most
at_once()
{
	awk -v names=" $* " '
		index(names, " " $2 " ") { n += $1 == "begin" ? 1 : -1; if (n > most) most = n }
		END { print most + 0 }' "$work/schedule"
}
# in_order A B: the first has ended before the second began
in_order()
{
	awk -v a="$1" -v b="$2" '$1 == "end" && $2 == a { ended = 1 } $1 == "begin" && $2 == b { exit !ended }' \
		"$work/schedule"
}

stages
check "all stages pass" test "$status" -eq 0
check "each is counted" says "^$((3 * $(grep -c ^begin "$work/schedule"))) passed, 0 failed, 0 skipped\$"
agents="check-bpf check-soak check-containers check-e2e check-kubernetes-node"
# shellcheck disable=SC2086 # names
check "one node-agent profiles the machine at once" test "$(at_once $agents)" -eq 1
check "daemons without one run one at once" test "$(at_once \
	check-kubernetes-api check-uploads check-sql-clients)" -eq 1
check "they run beside one with" test "$(at_once check-bpf check-uploads)" -eq 2
check "the node of a Kubernetes comes after the tests that have none" \
	in_order check-kubernetes-api check-kubernetes-node
check "no program of the Go matrix runs beside the end-to-end tests" \
	in_order check-go-matrix check-e2e
stages STAGE_FAILS=check-kubernetes-api
check "a stage that only waits for the end of a failed one runs" in_order check-kubernetes-api \
	check-kubernetes-node
check "its failure fails all" says '^[0-9]+ passed, 1 failed, 0 skipped$'
stages STAGE_FAILS=test-programs
check "what needs a failed stage does not run" test "$(at_once check-e2e lint)" -eq 0
check "and has failed" test "$status" -ne 0
echo "runner: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
