#!/bin/sh
# fetch-packages.sh these|needs|source SUITE ARCH DIR PACKAGE...: unpacks packages of any suite of
# Debian or Ubuntu and any architecture below DIR without installing them: only these, or also their
# dependencies, or what one is made from, without Debian's changes. Those of experimental need sid,
# too. A meta package stands for the kernel image that it depends on; modules and documents other
# than licences are left out. "dpkg-query --admindir=DIR/var/lib/dpkg" knows the packages and their
# files. Does nothing if DIR exists; remove it to get newer versions.
#
# A list of packages is taken from a mirror that is some weeks behind, too: it is signed, and what
# tests run on need not be the newest.
#
# Uses package lists of its own and leaves the machine's as they are. Debian's mirror, proxies and
# certificates are those of the machine. Needs no root.
set -eu
with=$1 suite=$2 arch=$3 dir=$4
shift 4
[ ! -d "$dir" ] || exit 0
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
ubuntu=http://archive.ubuntu.com/ubuntu
ubuntu_keyring=pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb
ubuntu_keyring_sum=0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f

# shellcheck disable=SC2016 # the field is apt's
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' |
	grep -m 1 -E '/debian/?$') || {
	echo "fetch-packages: the package sources of this machine name no Debian mirror" >&2
	exit 1
}

echo "deps: $* ($arch) from $suite"
mkdir -p "${dir%/*}"
new=$(mktemp -d "$dir.XXXXXX")
apt=$(mktemp -d)
trap 'rm -rf "$new" "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status"
suites=$suite parts=main
case $suite in
experimental) suites="$suite sid" ;;
jammy | noble | plucky | questing | resolute | stonking) # Ubuntu's
	suites="$suite $suite-updates" parts="main universe" mirror=$ubuntu
	# Debian 12 has no package of its keys
	curl -sSfL --retry 3 -o "$apt/keyring.deb" "$ubuntu/$ubuntu_keyring"
	echo "$ubuntu_keyring_sum $apt/keyring.deb" | sha256sum --check --quiet
	dpkg-deb -x "$apt/keyring.deb" "$apt"
	keyring=$apt/usr/share/keyrings/ubuntu-archive-keyring.gpg
	;;
esac
for each in $suites; do
	echo "deb [arch=$arch lang=none target=Packages signed-by=$keyring] $mirror $each $parts"
	[ "$with" != source ] ||
		echo "deb-src [lang=none target=Sources signed-by=$keyring] $mirror $each $parts"
done >"$apt/sources.list"
cat >"$apt/apt.conf" <<END
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
END
export APT_CONFIG="$apt/apt.conf"

apt-get update -q >"$apt/log" 2>&1 || { cat "$apt/log" >&2; exit 1; }
if [ "$with" = source ]; then
	(cd "$apt" && apt-get source -q --download-only --tar-only "$1") >"$apt/log" 2>&1 ||
		{ cat "$apt/log" >&2; exit 1; }
	tar -x -C "$new" --strip-components=1 -f "$(echo "$apt"/*.orig.tar.*)"
	mv -T "$new" "$dir"
	exit
fi
wanted=
for package in "$@"; do
	image=$(apt-cache depends "$package" |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
	wanted="$wanted ${image:-$package}"
done
# shellcheck disable=SC2086 # a list of words
case $with in
these) (cd "$apt/archives" && apt-get download -q $wanted) ;;
needs) apt-get install -q -y --download-only --no-install-recommends $wanted ;;
esac >"$apt/log" 2>&1 || { cat "$apt/log" >&2; exit 1; }
info=$new/var/lib/dpkg/info
mkdir -p "$info"
# a package that several architectures may have is known by both names
echo 1 >"$info/format"
for deb in "$apt"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" |
		tar -x -C "$new" --exclude=./lib/modules --exclude=./usr/share
	# the folder of a package's licence may be a link to another's
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$new" --no-recursion --wildcards \
		--no-wildcards-match-slash './usr/share/doc/*' './usr/share/doc/*/copyright' 2>/dev/null || true
	name=$(dpkg-deb -f "$deb" Package)
	[ "$(dpkg-deb -f "$deb" Multi-Arch)" != same ] || name=$name:$arch
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's|^\.||; s|^/$|/.|; s|\(.\)/$|\1|' >"$info/$name.list"
	{
		dpkg-deb -f "$deb"
		echo 'Status: install ok installed'
		echo
	} >>"$new/var/lib/dpkg/status"
done
chmod 755 "$new"
# another checkout may have fetched the same meanwhile
mv -T "$new" "$dir" 2>/dev/null || [ -d "$dir" ]
