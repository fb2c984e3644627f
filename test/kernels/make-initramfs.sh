#!/bin/sh
# make-initramfs.sh FILE BUSYBOX BIN...: an initramfs with busybox (static), the programs BIN in
# /bin, the shared libraries they need, and guest-init.sh as its first process.
set -eu
out=$1 busybox=$2
shift 2
here=$(dirname "$0")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/run" "$root/etc" \
	"$root/www/cgi-bin" "$root/bpf"
cp "$here/guest-init.sh" "$root/init"
cp "$here/receive-upload.sh" "$root/www/cgi-bin/upload"
cp bpf/README.md "$root/bpf/" # the instruction budgets
cp "$busybox" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"

for bin in "$@"; do
	# names of functions stay: the agent reads them
	strip -g -o "$root/bin/${bin##*/}" "$bin"
	ldd "$bin" | sed -nE 's|.*[[:space:]](/[^ ]+) \(0x.*|\1|p'
done | sort -u | while read -r lib; do
	mkdir -p "$root${lib%/*}"
	cp -L "$lib" "$root$lib"
done
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$out"
