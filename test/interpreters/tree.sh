#!/bin/bash
# tree.sh ROOT SUITE PACKAGE...: unpacks Debian packages, with what they need, below ROOT once, so
# that programs can be run there by chroot(8). Needs root.
set -eu
root=$1 suite=$2
shift 2
"$(dirname "$0")"/../kernels/fetch-packages.sh needs "$suite" "$(dpkg --print-architecture)" \
	"$root" base-files "$@" >&2
# packages of releases with one /usr only have it
for dir in bin lib lib64 sbin; do
	[ -e "$root/$dir" ] || ln -s "usr/$dir" "$root/$dir"
done
mkdir -p "$root/tmp"
# what nothing but the installation of packages would make
[ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
[ -e "$root/etc/passwd" ] || echo "nobody:x:65534:65534::/:/bin/false" >"$root/etc/passwd"
[ -e "$root/etc/group" ] || echo "nogroup:x:65534:" >"$root/etc/group"
