#!/bin/bash
# rootfs.sh node-agent|cluster-agent|cluster-agent-store|engine ROOT: fills ROOT, an empty folder,
# with what is in the image of that name: the program, its libraries and their loader, certificates
# of authorities, the licences of all of it, and an SBOM. There is no shell and no package manager.
# "engine" is libchdb.so alone, the lowest layer of cluster-agent-store.
#
# Libraries are found by reading ELF files, not by ldd: it would run the loader of this machine, so
# it can neither read programs of another one nor know what the agent loads later by name.
#
# Needs in the environment: O (folder of the built agents), VERSION, SOURCE_DATE_EPOCH, WEB_DEPS
# (npm packages of the page). For another architecture, SYSROOT is the tree of Debian packages that
# the agents were built with, including its list of packages (var/lib/dpkg).
set -euo pipefail
image=$1 root=$2
here=$(dirname "$0")
sysroot=${SYSROOT:-}
umask 022
export LC_ALL=C # the order of names

engine_file()
{
	readlink -f "$O/libchdb.so"
}

# One inode with the installed file where that is possible: it has 550 MB.
if [ "$image" = engine ]; then
	mkdir -p "$root/usr/lib/coroot"
	ln "$(engine_file)" "$root/usr/lib/coroot/libchdb.so" 2>/dev/null ||
		cp "$(engine_file)" "$root/usr/lib/coroot/libchdb.so"
	exit 0
fi

program=$O/coroot-${image%-store}
case $(readelf -h "$program" | sed -n 's/ *Machine: *//p') in
*X86-64) triplet=x86_64-linux-gnu architecture=amd64 ;;
AArch64) triplet=aarch64-linux-gnu architecture=arm64 ;;
*) echo "rootfs: $program: unknown architecture" >&2 && exit 1 ;;
esac
doc=$root/usr/share/doc
libraries=$root/usr/lib/$triplet
mkdir -p "$root"/{usr/bin,usr/share/sbom,etc/ssl/certs,"var/lib/coroot-${image%-store}"} \
	"$libraries" "$doc/coroot"
mkdir -m 1777 "$root/tmp"
ln -s usr/lib "$root/lib"

# ---- the program and its libraries ----

${LLVM_STRIP:-llvm-strip} -g -o "$root/usr/bin/${program##*/}" "$program"

# needed FILE…: names of libraries
needed()
{
	readelf -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u
}

# prints where the library is
find_library()
{
	local dir
	for dir in lib usr/lib; do
		[ ! -e "$sysroot/$dir/$triplet/$1" ] || { echo "$sysroot/$dir/$triplet/$1" && return; }
	done
	echo "rootfs: no library $1 of $triplet" >&2
	return 1
}

# add NAME…: these libraries, and what they need, in rounds
add()
{
	local name path new names=$*
	while [ -n "$names" ]; do
		new=()
		for name in $names; do
			[ ! -e "$libraries/$name" ] || continue
			path=$(find_library "$name")
			install -m 0644 "$path" "$libraries/$name"
			new+=("$libraries/$name")
		done
		names=
		[ ${#new[@]} -eq 0 ] || names=$(needed "${new[@]}")
	done
}

# The program names its loader by an absolute path.
loader=$(readelf -lW "$program" | sed -n 's/.*program interpreter: \(.*\)\]$/\1/p')
# glibc loads libgcc_s when a thread is cancelled or exits
add "$(needed "$program")" libgcc_s.so.1 "${loader##*/}"
[ "$image" != cluster-agent-store ] || add "$(needed "$(engine_file)")"
chmod 0755 "$libraries/${loader##*/}"
[ "${loader%/*}" = /lib ] || ln -s usr/lib "$root${loader%/*}"
ln -s "$triplet/${loader##*/}" "$root/usr/lib/${loader##*/}"

# what is loaded into JVMs, never here: it has no part in the image's libraries
if [ "$image" = node-agent ]; then
	java_library=$("$here/../../node-agent/java/install-async-profiler.sh" --print "${triplet%%-*}")
	install -D -m 0644 "$java_library" "$root/usr/lib/coroot-node-agent/libasyncProfiler.so"
fi

# ---- what libraries expect in /etc ----

printf '%s\n' 'root:x:0:0:root:/:/usr/sbin/nologin' \
	'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin' >"$root/etc/passwd"
printf '%s\n' root:x:0: nogroup:x:65534: >"$root/etc/group"
printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$root/etc/nsswitch.conf"
# Debian's list of authorities, without those that were added to this machine.
for certificate in /usr/share/ca-certificates/mozilla/*.crt; do
	cat "$certificate"
	echo
done | sed '/^$/d' >"$root/etc/ssl/certs/ca-certificates.crt"

# ---- licences and SBOM ----

# "package file" of every library; Debian 12's packages have them in /lib or in /usr/lib
owners()
{
	local paths=() file
	for file in "$libraries"/*; do
		paths+=("/lib/$triplet/${file##*/}" "/usr/lib/$triplet/${file##*/}")
	done
	# fails for the places where a library is not
	dpkg-query --admindir="$sysroot/var/lib/dpkg" -S "${paths[@]}" 2>/dev/null |
		sed -n 's|^\([^,: ]*\)[^ ]*: .*/|\1 |p' || true
}

# describe SYSROOT: "package file…" on stdin -> "package version source architecture file…"; copies
# the licences, also where the folder or the file is a link
describe()
{
	local package
	sort >"$work/files"
	while read -r package _; do
		mkdir -p "$doc/$package"
		cp -L "$1/usr/share/doc/$package/copyright" "$doc/$package/copyright"
	done <"$work/files"
	# shellcheck disable=SC2046 # names of packages
	dpkg-query --admindir="$1/var/lib/dpkg" -W \
		-f '${Package} ${Version} ${source:Package} ${Architecture}\n' \
		$(cut -d ' ' -f 1 "$work/files") |
		awk -v our="$architecture" '$4 == our || $4 == "all"' | sort | join - "$work/files"
}

# every package that has files in the image; headers and static libraries are in the program itself
packages()
{
	{
		owners | sort | awk '{ files[$1] = files[$1] " " $2 } END { for (p in files) print p files[p] }'
		printf '%s\n' libiberty-dev libxxhash-dev uthash-dev
	} | describe "$sysroot"
	echo ca-certificates ca-certificates.crt | describe ''
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/../../LICENSE" "$doc/coroot/copyright"
cp -R -L /usr/share/common-licenses "$root/usr/share/common-licenses"
packages >"$work/packages"
for file in "$libraries"/*; do
	grep -q " ${file##*/}\( \|$\)" "$work/packages" || {
		echo "rootfs: $file is of no Debian package" >&2
		exit 1
	}
done
locks=
if [ "$image" = node-agent ]; then
	mkdir -p "$doc/async-profiler"
	cp "$here/../../node-agent/java/async-profiler.copyright" "$doc/async-profiler/copyright"
	locks="$here/../../node-agent/java/async-profiler.sha256"
else
	for package in preact uplot; do
		mkdir -p "$doc/npm-$package"
		cp "$WEB_DEPS/node_modules/$package/LICENSE" "$doc/npm-$package/copyright"
	done
	locks="$here/../../cluster-agent/web/package-lock.json"
fi
if [ "$image" = cluster-agent-store ]; then
	mkdir -p "$doc/libchdb"
	echo 'chDB, Apache License 2.0: /usr/share/common-licenses/Apache-2.0' >"$doc/libchdb/copyright"
	locks="$locks $here/../../cluster-agent/store/package-lock.json"
fi
# shellcheck disable=SC2086 # a list of files
node "$here/sbom.mjs" "coroot-$image" "$VERSION" "$SOURCE_DATE_EPOCH" "$root" $locks \
	<"$work/packages" >"$root/usr/share/sbom/coroot-$image.spdx.json"
