#!/bin/bash
# Runs a command in a fresh Debian 12: a minimal tree made by debootstrap, with a clone of this
# checkout's HEAD in /root/agents, where the command starts.
#
#   test/setup/debian-tree.sh [--cached] NAME COMMAND...
#
# The minimal tree is made once and copied to $DEPS/debian-tree/NAME for every run; that copy stays
# for a look afterwards. The only packages in it are Debian's minimal ones and what the README asks
# for (git, make, ca-certificates). How packages are reached (sources, proxies, certificates) is
# taken from this machine.
#
# --cached lends $DEPS, Go's module and build caches and Debian's downloaded packages to the tree.
# These hold downloads and what is built from them, but no program that a tree would find by its
# PATH.
#
# The tree becomes the root of a mount namespace by pivot_root(2), not by chroot: inside a chroot
# the kernel refuses user namespaces, which containers and browsers use. Processes, the network and
# the kernel are this machine's, because that is what a profiler profiles. Needs root and
# debootstrap.
set -eu
cd "$(dirname "$0")/../.."
deps=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
dir=$deps/debian-tree
base=$dir/base

fail()
{
	echo "debian-tree: $*" >&2
	exit 1
}

if [ "${IN_OWN_MOUNTS:-}" != 1 ]; then
	[ "$(id -u)" -eq 0 ] || fail "needs root (mounts)"
	command -v debootstrap >/dev/null || fail "needs the package debootstrap"
	# all mounts below vanish with the last process of this namespace
	IN_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi

cached=
if [ "${1:-}" = --cached ]; then
	cached=1
	shift
fi
[ $# -ge 2 ] || fail "usage: debian-tree.sh [--cached] NAME COMMAND..."
name=$1
shift
root=$dir/$name
[[ $name =~ ^[a-z0-9-]+$ && $name != base ]] || fail "a tree cannot be called '$name'"

debian_mirror()
{
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' |
		grep -E '/debian/?$' | head -n 1
}

copy_settings()
{
	local f
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		[ -f "$f" ] && grep -q '/debian' "$f" && install -D -m 0644 "$f" "$root$f"
	done
	for f in /etc/apt/apt.conf.d/*; do
		grep -qiE 'proxy|ca-?info|verify' "$f" &&
			install -m 0644 "$f" "$root/etc/apt/apt.conf.d/"
	done
	mkdir -p "$root/usr/local/share/ca-certificates" "$root/etc/ssl/certs"
	cp -rL /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
	# until the package ca-certificates is there; it writes the same file anew
	[ ! -f /etc/ssl/certs/ca-certificates.crt ] ||
		cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/machine.crt"
	grep -hE '(registry|proxy|cafile)=' ~/.npmrc >"$root/root/.npmrc" 2>/dev/null || true
	# the tree is thrown away: no need to wait for the disk at each package
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

# A tree that is being made by another run has another name until it is complete.
if [ ! -d "$base" ]; then
	mkdir -p "$dir"
	new=$(mktemp -d "$dir/new.XXXXXX")
	chmod 755 "$new"
	echo "debian-tree: debootstrap …"
	log=$dir/debootstrap.log
	debootstrap --variant=minbase bookworm "$new" "$(debian_mirror)" >"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; rm -rf "$new"; fail "debootstrap failed"; }
	mv -T "$new" "$base" 2>/dev/null || rm -rf "$new"
fi
# A process that an interrupted run left behind may still write to its tree: out of the way first.
# What is mounted there belongs to that run's namespace, and is not seen here.
rm -rf "$dir"/old.* 2>/dev/null || true
[ ! -d "$root" ] || mv -T "$root" "$dir/old.$$"
rm -rf "$dir/old.$$" 2>/dev/null || true
cp -a --reflink=auto "$base" "$root"
copy_settings
git clone -q . "$root/root/agents"

mount --bind "$root" "$root"
for d in proc sys dev; do
	mount --rbind "/$d" "$root/$d"
done
mount -t tmpfs -o mode=755 tmpfs "$root/run"

settings=()
for v in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
	GOPROXY GOSUMDB GONOSUMDB GOFLAGS CI; do
	[ -z "${!v:-}" ] || settings+=("$v=${!v}")
done
if [ -f "$root/etc/ssl/certs/machine.crt" ]; then
	for v in SSL_CERT_FILE NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE GIT_SSL_CAINFO; do
		settings+=("$v=/etc/ssl/certs/machine.crt")
	done
fi
if [ -n "$cached" ]; then
	mkdir -p "$dir/archives" "$deps/go-mod" "$deps/go-build" "$root/root/.cache/coroot-agents"
	mount --bind "$dir/archives" "$root/var/cache/apt/archives"
	mount --bind "$deps" "$root/root/.cache/coroot-agents"
	settings+=(GOMODCACHE=/root/.cache/coroot-agents/go-mod
		GOCACHE=/root/.cache/coroot-agents/go-build)
fi

cd "$root"
mkdir -p mnt
pivot_root . mnt
cd /
umount -l /mnt
inside()
{
	/usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb USER=root DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		"${settings[@]}" "$@"
}
packages=/tmp/packages.log
{
	inside apt-get update -q
	inside apt-get install -y -q --no-install-recommends git make ca-certificates
} >"$packages" 2>&1 </dev/null || {
	tail -n 20 "$packages" >&2
	fail "the first packages cannot be installed"
}
cd /root/agents
inside "$@"
