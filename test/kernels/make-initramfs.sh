#!/bin/sh
# make-initramfs.sh FILE BUSYBOX SYSROOT BIN...: makes an initramfs with a static busybox, the
# programs BIN in /bin, guest-init.sh as its first process, and shared libraries: those that the
# programs need on this machine or, with a SYSROOT other than "/", all libraries of the SYSROOT.
set -eu
out=$1 busybox=$2 sysroot=$3
shift 3
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

shared_libraries()
{
	if [ "$sysroot" = / ]; then
		for bin in "$@"; do
			ldd "$bin" 2>/dev/null | sed -nE 's|.*[[:space:]](/[^ ]+) \(0x.*|\1|p'
		done | sort -u
	else
		(cd "$sysroot" && find lib usr/lib -name '*.so.*' -printf '/%p\n')
	fi
}

for bin in "$@"; do
	# symbols stay: the agent reads them; llvm-strip cannot read static programs of glibc
	"${LLVM_STRIP:-llvm-strip}" -g -o "$root/bin/${bin##*/}" "$bin" 2>/dev/null ||
		cp "$bin" "$root/bin/${bin##*/}"
done
shared_libraries "$@" | while read -r lib; do
	mkdir -p "$root${lib%/*}"
	cp -L "${sysroot%/}$lib" "$root$lib"
done
(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$out"
