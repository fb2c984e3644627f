#!/bin/bash
# debian-programs.sh CHECK_HEAP CHECK_BETWEEN: compares heap profiles of Go programs as Debian ships
# them, stripped, with their own, while they work. The packages are unpacked below
# $DEPS/go-programs, not installed. All programs listen on loopback only.
set -u
check=$1 between=$2
# shellcheck source=test/go-matrix/matrix.sh
. "$(dirname "$0")/matrix.sh"
root=$DEPS/go-programs
"$here"/../kernels/fetch-packages.sh these bookworm "$(dpkg --print-architecture)" "$root" \
	prometheus-node-exporter etcd-server caddy || exit 1

# answers URL: waits until it is served
answers() {
	for _ in $(seq 3000); do
		curl -sf -o "$work/answer" "$1" && return
		sleep 0.1
	done
	echo "nothing at $1"
	tail -5 "$work/log"
	return 1
}

port() {
	echo $((20000 + RANDOM % 10000))
}

# Each of these starts the program, makes it work, and sets $url to the address of its profile.

node_exporter() {
	local at
	at=127.0.0.1:$(port)
	"$root/usr/bin/prometheus-node-exporter" --web.listen-address="$at" >"$work/log" 2>&1 &
	pid=$! url=http://$at/debug/pprof/heap
	answers "http://$at/metrics" && curl -sf -o "$work/answer" "http://$at/metrics?[1-150]"
}

etcd() {
	local at peer value
	at=127.0.0.1:$(port) peer=http://127.0.0.1:$(port)
	rm -rf "$work/etcd"
	"$root/usr/bin/etcd" --data-dir "$work/etcd" --enable-pprof --log-level error \
		--listen-client-urls "http://$at" --advertise-client-urls "http://$at" \
		--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
		--initial-cluster "default=$peer" >"$work/log" 2>&1 &
	pid=$! url=http://$at/debug/pprof/heap
	value=$(head -c 30000 /dev/zero | base64 -w 0)
	answers "http://$at/health" &&
		curl -sf -o "$work/answer" -d "{\"key\":\"a2V5\",\"value\":\"$value\"}" \
			"http://$at/v3/kv/put?[1-300]"
}

caddy() {
	local at admin
	at=127.0.0.1:$(port) admin=127.0.0.1:$(port)
	printf '{\n\tadmin %s\n}\n' "$admin" >"$work/Caddyfile"
	printf 'http://%s {\n\ttemplates\n\troot * %s\n\tfile_server browse\n}\n' \
		"$at" "$root/etc" >>"$work/Caddyfile"
	HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work "$root/usr/bin/caddy" run \
		--config "$work/Caddyfile" --adapter caddyfile >"$work/log" 2>&1 &
	pid=$! url=http://$admin/debug/pprof/heap
	answers "http://$at/" && curl -sf -o "$work/answer" "http://$at/?[1-300]"
}

# The program keeps working: a garbage collection or an allocation between two readings spoils one
# attempt.
compare() {
	curl -sf --max-time 300 -o "$work/before" "$url?gc=1" &&
		"$check" read "$pid" "$work/ours" &&
		curl -sf --max-time 300 -o "$work/after" "$url?gc=1" &&
		"$between" "$work/ours" "$work/before" "$work/after"
}

# check_program NAME
check_program() {
	local good=1 start
	# a port may be taken
	for start in 1 2 3; do
		[ "$good" -ne 0 ] || break
		if "$1"; then
			for _ in $(seq 10); do
				printf '  %-24s ' "$1"
				compare && good=0 && break
				sleep 0.2
			done
			start=started
		fi
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		pid=
		[ "$start" != started ] || break
	done
	count $good
}

for program in node_exporter etcd caddy; do
	check_program $program
done
report "Go programs of Debian"
