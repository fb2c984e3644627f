#!/bin/bash
# Proves the set-up on a plain Debian 12: a minimal tree made by debootstrap, entered by chroot,
# with a fresh clone of this checkout's HEAD in it.
#
#   test/setup/clean-machine.sh [make target or "sh -c …"] (default: make test)
#
# The tree is made once in $CLEAN_DIR (default $DEPS/clean-machine) and copied for every run; the
# copy stays for a look afterwards, and KEEP=1 goes on in it with a new clone. How packages are reached (sources, proxies, certificates) is
# taken from this machine. Needs root and debootstrap.
set -eu
cd "$(dirname "$0")/../.."
deps=${DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/coroot-agents}
dir=${CLEAN_DIR:-$deps/clean-machine}
base=$dir/base root=$dir/root

if [ "${IN_OWN_MOUNTS:-}" != 1 ]; then
	[ "$(id -u)" -eq 0 ] || { echo "clean-machine: needs root (mounts, chroot)" >&2; exit 1; }
	command -v debootstrap >/dev/null || { echo "clean-machine: needs the package debootstrap" >&2; exit 1; }
	# all mounts below vanish with the last process of this namespace
	IN_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi

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
		grep -qiE 'proxy|ca-?info|verify' "$f" && install -m 0644 "$f" "$root/etc/apt/apt.conf.d/"
	done
	mkdir -p "$root/usr/local/share/ca-certificates" "$root/etc/ssl/certs"
	cp -rL /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
	# until the package ca-certificates is there; it writes the same file anew
	[ ! -f /etc/ssl/certs/ca-certificates.crt ] ||
		cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/machine.crt"
	grep -hE '(registry|proxy|cafile)=' ~/.npmrc >"$root/root/.npmrc" 2>/dev/null || true
}

if [ ! -f "$base/.complete" ]; then
	rm -rf "$base"
	mkdir -p "$base"
	debootstrap --variant=minbase bookworm "$base" "$(debian_mirror)"
	touch "$base/.complete"
fi
if [ -z "${KEEP:-}" ]; then
	rm -rf "$root"
	cp -a --reflink=auto "$base" "$root"
	copy_settings
fi
rm -rf "$root/root/agents"
git clone -q . "$root/root/agents"
# tests make mount namespaces of their own, for which the root must be a mount
mount --bind "$root" "$root"
for d in proc sys dev; do
	mount --rbind "/$d" "$root/$d"
done

settings=()
for v in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY GOPROXY GOSUMDB GONOSUMDB GOFLAGS; do
	[ -z "${!v:-}" ] || settings+=("$v=${!v}")
done
if [ -f "$root/etc/ssl/certs/machine.crt" ]; then
	for v in SSL_CERT_FILE NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE GIT_SSL_CAINFO; do
		settings+=("$v=/etc/ssl/certs/machine.crt")
	done
fi
inside()
{
	chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb USER=root DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" "$@"
}

# the two programs that the README asks for
inside apt-get update -q
inside apt-get install -y -q --no-install-recommends git make
[ $# -gt 0 ] || set -- make test
# shellcheck disable=SC2016 # expanded inside
inside /bin/bash -c 'cd /root/agents && time "$@"' run "$@"
