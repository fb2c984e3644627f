#!/bin/bash
# Runs test/e2e/*.test.js one after the other, or those named: run-e2e.sh shares page
#
# "server" names those without a node-agent, which may run beside others, and "node" all others.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "e2e: the node-agent needs root, and there is no sudo" >&2
		exit 1
	}
	exec sudo --preserve-env=BIN,DEPS,CI,PATH "$0" "$@"
fi
# what root wrote goes back to the user who called
# shellcheck disable=SC2153 # both come from sudo
[ -z "${SUDO_UID:-}" ] || trap 'chown -R "$SUDO_UID:$SUDO_GID" build/e2e' EXIT

server='base_path grafana grpc_flood hostile_names query_api sides static_targets upload'
# shellcheck source=test/test-files.sh
. test/test-files.sh
test_files test/e2e "$server" "$@"

# built before any test has a time limit
case " ${files[*]} " in
*/otlp.test.js*)
	test/otlp/build-collector.sh >/dev/null ||
		echo "e2e: there is no OpenTelemetry Collector, so tests of otlp.test.js fail; see above" >&2
	;;
esac
case " ${files[*]} " in
*/dotnet.test.js*) test/dotnet/runtimes.sh >/dev/null || echo "e2e: there is no .NET; see above" >&2 ;;
esac

failed=0
for f in "${files[@]}"; do
	echo "== $f"
	# a test that hangs is a failure of its own, and its daemons are killed
	test/node-test.sh 1200 "$f" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ]
