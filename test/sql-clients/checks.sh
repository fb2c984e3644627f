# shellcheck shell=bash
# What clients.test.js reads from a client: one line per check. Sourced by bash.

# shellcheck disable=SC2034 # the client exits with it
failed=0

# is WHAT GOT EXPECTED
is()
{
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: got '$2', not '$3'"
		# shellcheck disable=SC2034
		failed=1
	fi
}
