#!/bin/bash
# limit.sh SECONDS COMMAND...: runs a command that must end within SECONDS; its exit status, or
# 124 if it did not.
#
# A command that is late says where it stands before it is killed: the kernel's and the debugger's
# stacks of all threads of all its processes, on standard error. Then all of them are killed,
# whatever process group or session they have moved to: every descendant inherits $TEST_LIMIT, and
# is found by that. The same happens to what a failed command leaves behind.
#
# A thread in an uninterruptible read of a FUSE file ignores SIGKILL until the file system's
# connection is aborted. That happens when its server is among the killed, and otherwise through
# /sys/fs/fuse/connections.
set -u
seconds=$1
shift
TEST_LIMIT=${TEST_LIMIT:-}/$$
pid='' waiter=''

# ours: the processes of the command. Reading an environment can hang with the process, so that
# has a limit too.
ours()
{
	timeout -s KILL 20 grep -lzsE --line-buffered "^TEST_LIMIT=$TEST_LIMIT(/|\$)" /proc/[0-9]*/environ 2>/dev/null |
		tr -dc '0-9\n' | grep -vx "$$"
	# those whose environment could not be read, or is not that of their parent
	timeout -s KILL 20 pgrep -s "$pid"
	children_of "$pid"
}
children_of()
{
	local child
	cat "/proc/$1/task/"*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
		echo "$child"
		children_of "$child"
	done
}
alive()
{
	local p
	for p in "$@"; do
		grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$p/status" && echo "$p"
	done
}

# dump PID: what the kernel knows first, because that cannot hang
dump()
{
	local task name
	name=$(cat "/proc/$1/comm" 2>/dev/null) || return
	echo "==== process $1 ($name), parent $(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)"
	for task in "/proc/$1/task"/*; do
		echo "-- thread ${task##*/} ($(cat "$task/comm" 2>/dev/null)):" \
			"$(sed -n 's/^State:[[:space:]]*//p' "$task/status" 2>/dev/null), in $(cat "$task/wchan" 2>/dev/null)"
		cat "$task/stack" 2>/dev/null
	done
	case $name in
	bash | sh | make | sleep | timeout | setsid | cat | tail | xargs) return ;;
	esac
	[ "$debugged" -lt 10 ] && command -v gdb >/dev/null || return
	debugged=$((debugged + 1))
	timeout -s KILL 15 gdb -p "$1" -batch -nx -ex 'set pagination off' -ex 'thread apply all bt 40' 2>&1 </dev/null |
		grep -vE '^(\[New LWP|warning:|\[Thread debugging|Using host libthread_db|$)' | head -n 400
}

# connections PID...: numbers of the FUSE connections of their open files
connections()
{
	local p fd device
	for p in "$@"; do
		for fd in "/proc/$p/fd"/*; do
			device=$(timeout -s KILL 2 stat -L -c %d "$fd" 2>/dev/null) || continue
			[ ! -e "/sys/fs/fuse/connections/$device/abort" ] || echo "$device"
		done
	done | sort -u
}

kill_all()
{
	local i found fuse='' number
	for ((i = 0; i < 100; i++)); do
		# shellcheck disable=SC2046 # a list of numbers
		found=$(alive $(ours | sort -u))
		[ -n "$found" ] || return
		# shellcheck disable=SC2086 # a list of numbers
		[ "$i" -gt 0 ] || [ -z "$(ls /sys/fs/fuse/connections 2>/dev/null)" ] || fuse=$(connections $found)
		# shellcheck disable=SC2086
		kill -KILL $found 2>/dev/null
		if [ "$i" -eq 20 ]; then
			for number in $fuse; do
				echo 1 >"/sys/fs/fuse/connections/$number/abort"
			done
		fi
		sleep 0.1
	done
	echo "limit: these processes cannot be killed: $found"
	for number in $found; do
		dump "$number"
	done
}

late()
{
	local p debugged=0
	echo "limit: not done after $seconds s: $*"
	# shellcheck disable=SC2046 # a list of numbers
	for p in $(alive $(ours | sort -un)); do
		dump "$p"
	done
	kill_all
} >&2

trap 'kill_all >&2; exit 143' TERM
trap 'kill_all >&2; exit 130' INT
export TEST_LIMIT
# shellcheck disable=SC2016 # expanded by the inner shell
# A kernel that groups by session gives each a priority of its own.
setsid -- sh -c 'nice 2>/dev/null >/proc/self/autogroup; exec "$@"' sh "$@" <&0 &
pid=$!
sleep "$seconds" >/dev/null 2>&1 &
waiter=$!
wait -n -p ended "$pid" "$waiter"
status=$?
if [ "$ended" = "$waiter" ]; then
	late "$@"
	exit 124
fi
kill "$waiter" 2>/dev/null
[ "$status" -eq 0 ] || kill_all >&2
exit "$status"
