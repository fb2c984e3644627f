#!/bin/sh
# deps.sh LIST…: installs the Debian packages of these lists that are missing; nothing is ever
# upgraded or removed.
# Runs as root, or through sudo. Fast when everything is there: one dpkg-query.
#
# What is newer than Debian 12 comes from elsewhere: libchdb by
# cluster-agent/store/install-chdb.sh, libasyncProfiler.so by
# node-agent/java/install-async-profiler.sh, npm packages by the lock files, Go by test/setup/go.sh.
set -eu

# curl, unzip: the jar of async-profiler
build='gcc libc6-dev make git ca-certificates pkg-config clang llvm bpftool libbpf-dev libelf-dev libdw-dev liblzma-dev
libcurl4-openssl-dev libprotobuf-c-dev protobuf-c-compiler libjansson-dev libyaml-dev
libmicrohttpd-dev libnghttp2-dev libgnutls28-dev libseccomp-dev libdeflate-dev libxxhash-dev libzstd-dev liblz4-dev
libiberty-dev libpcre2-dev uthash-dev zlib1g-dev xz-utils curl unzip'
# jq: the scripts; g++, golang: programs that the profiler is tried on; gdb: stacks of tests
# that hang; ccache: sources that were compiled before; clickhouse-common: libraries of the server
# that test_clickhouse_transport.c starts; containerd … openssl: a
# Kubernetes node; podman: containers; openjdk, pip: Java tests, and clients of the SQL port;
# tomcat10: a Java application; libnss3-tools: a browser that trusts an authority of ours;
# time: memory of other programs in benchmarks
test='libcmocka-dev gdb ccache libclang-rt-14-dev chromium fonts-dejavu-core jq
g++ util-linux procps qemu-system-x86 qemu-system-arm qemu-user cpio
clickhouse-common containerd runc podman containernetworking-plugins iptables iproute2 openssl
openjdk-17-jdk-headless tomcat10-user tomcat10-examples libnss3-tools python3-pip php-cli ruby lua5.4 luajit time
debootstrap'
# of container images; binutils: reads which libraries our programs need
images='buildah binutils'
# what "make accuracy" profiles, and profiles beside us
accuracy='linux-perf rustc musl-tools g++ clang openjdk-17-jdk-headless'
# what "make truth" profiles beside what the tests have
truth='apache2-utils erlang-base ffmpeg gawk guile-3.0 imagemagick nginx-light ocaml-nox postgresql
python3-numpy r-base-core redis-server rustc sqlite3 tcl zstd'
# what builds programs for arm64
arm64='gcc-aarch64-linux-gnu libc6-arm64-cross debian-archive-keyring'
# systemd: checks our units; nothing is started
lint='clang-format clang-tidy cppcheck universal-ctags shellcheck systemd'

# at_least MIN VERSION: is the first number of VERSION (and the second, if MIN has one) high enough?
at_least()
{
	[ -n "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# prints the names in $@ that dpkg does not show as installed
not_installed()
{
	# shellcheck disable=SC2016 # the fields are dpkg-query's
	dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "$@" 2>/dev/null |
		awk -v want="$*" '$2 ~ /^.i/ { have[$1] = 1 }
			END { n = split(want, w, " ")
			      for (i = 1; i <= n; i++) if (!(w[i] in have)) printf "%s ", w[i] }'
}

# a foreign Node.js or Go that is new enough stays; Debian's would conflict with it
node=$(node --version 2>/dev/null | tr -d v) || node=
at_least 18 "$node" && command -v npm >/dev/null || build="$build nodejs npm"
go=$(go version 2>/dev/null | sed -n 's/.* go\([0-9.]*\).*/\1/p') || go=
at_least 1.19 "$go" || test="$test golang"
# names that come late
test="$test debuginfod libc6-dbg"
# a release that Go's own download has not; conflicts with none
test="$test golang-1.19-go"

wanted=
for list in "$@"; do
	case $list in
	build) wanted="$wanted $build" ;;
	test) wanted="$wanted $test" ;;
	lint) wanted="$wanted $lint" ;;
	images) wanted="$wanted $images" ;;
	accuracy) wanted="$wanted $accuracy" ;;
	arm64) wanted="$wanted $arm64" ;;
	truth) wanted="$wanted $truth" ;;
	*) echo "deps.sh: '$list' is none of: build test lint images accuracy truth arm64" >&2; exit 2 ;;
	esac
done
# shellcheck disable=SC2086 # lists of words
missing=$(not_installed $wanted)
[ -n "$missing" ] || exit 0

echo "deps: Debian packages that are missing: $missing"
run=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "deps: installing packages needs root, and there is no sudo;" \
			"run 'make deps' as root" >&2
		exit 1
	}
	run=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# quietly LABEL COMMAND...: one line when it works, the whole output when it does not
quietly()
{
	printf 'deps: %s … ' "$1"
	shift
	if "$@" >"$log" 2>&1 </dev/null; then
		echo 'done'
	else
		echo failed
		return 1
	fi
}
install()
{
	# shellcheck disable=SC2086 # a list of words, and a command that may be empty
	quietly "apt-get install" $run env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends --no-upgrade $missing
}
update()
{
	# another source of the machine may be down; the installation fails if it is one we need
	quietly "apt-get update" $run apt-get update -q || cat "$log"
}

# package lists may be absent (a minimal image) or too old (a mirror no longer has that version)
# shellcheck disable=SC2086 # a list of words
candidates=$(apt-cache policy $missing | grep -c '^  Candidate: [^(]' || true)
if [ "$candidates" -lt "$(echo "$missing" | wc -w)" ]; then
	update
	install || { cat "$log" >&2; exit 1; }
else
	install || { update; install; } || { cat "$log" >&2; exit 1; }
fi
