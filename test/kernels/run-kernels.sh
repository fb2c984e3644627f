#!/bin/sh
# run-kernels.sh BIN...: runs the sampler's tests and the whole node-agent on kernels of Debian, in
# plain emulation, as many at once as there are cores. See test/README.md.
set -eu
cd "$(dirname "$0")/../.."
deps=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}/kernels
out=build/kernels
fetch=test/kernels/fetch-packages.sh
# name, suite, architecture, processors, tests of test/bpf (test/README.md says why these)
some=sampler_budget,sampler,unwind,unwinder
kernels="5.10 bullseye amd64 2 all
6.1 bookworm amd64 1 $some
6.12 bookworm-backports amd64 1 all
6.1-arm64 bookworm arm64 2 $some"

[ "$(uname -m)" = x86_64 ] || {
	echo "kernels: the programs of this machine do not run on amd64 kernels" >&2
	exit 1
}
mkdir -p "$out"
rm -f "$out"/*.result
echo "$kernels" | while read -r name suite arch _; do
	$fetch these "$suite" "$arch" "$deps/$name" "linux-image-cloud-$arch"
done
for arch in amd64 arm64; do
	$fetch these bookworm "$arch" "$deps/tools-$arch" busybox-static
done
sysroot=$(test/setup/arm64-sysroot.sh)
test/kernels/build-arm64.sh "$sysroot" build/arm64
# runc is for this machine's architecture only
test/kernels/make-initramfs.sh "$out/amd64.cpio" "$deps/tools-amd64/bin/busybox" / "$@" \
	"$(command -v runc)"
test/kernels/make-initramfs.sh "$out/arm64.cpio" "$deps/tools-arm64/bin/busybox" \
	"$sysroot" build/arm64/bin/*
# shellcheck disable=SC2016 # expanded by the inner shell
echo "$kernels" | xargs -P "$(nproc)" -L 1 sh -c \
	'test/kernels/boot-kernel.sh "$2" "$4" "$0/$2" "$1/$4.cpio" "$1/$2.log" "$5" "$6"' "$deps" "$out"
awk '
	{ p += $1; f += $2 }
	END {
		printf "kernels: %d passed, %d failed\n", p, f
		exit f > 0 || p == 0
	}' "$out"/*.result
