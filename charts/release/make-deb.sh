#!/bin/sh
# make-deb.sh FOLDER NAME ARCHITECTURE TREE: packs TREE as FOLDER/NAME_VERSION_ARCHITECTURE.deb, with
# the configuration file and the scripts of its service, if it has one. Needs VERSION and
# SOURCE_DATE_EPOCH.
#
# Dependencies are the Debian packages of the libraries that the program needs, as its SBOM knows
# them, by name: the soname is part of it. Only libc's version is said, as its symbols grow under one
# name.
set -eu
here=$(dirname "$0")
folder=$1 name=$2 architecture=$3 tree=$4
service=/lib/systemd/system/$name.service
number=$(echo "${VERSION#v}" | sed 's/-/~/')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
umask 022

# the engine is large, and one file with the one that was built
cp -rl "$tree" "$scratch/root" 2>/dev/null || {
	rm -rf "$scratch/root"
	cp -r "$tree" "$scratch/root"
}
mkdir "$scratch/root/DEBIAN"

describe()
{
	case $name in
	coroot-node-agent) echo "profiles all processes of a machine, by eBPF" ;;
	coroot-cluster-agent) echo "receives, stores and shows profiles" ;;
	*) echo "the store of coroot-cluster-agent as a library" ;;
	esac
}

depends()
{
	[ -e "$tree/usr/share/sbom/$name.spdx.json" ] || { echo "coroot-cluster-agent" && return; }
	# shellcheck disable=SC2046,SC2016 # names of libraries; JavaScript
	node -e '
		const [sbom, ...libraries] = process.argv.slice(1);
		const { files, packages, relationships } = JSON.parse(require("fs").readFileSync(sbom));
		const packageOf = (library) => {
			const file = files.find((f) => f.fileName.endsWith(`/${library}`));
			const owner = relationships.find((r) => r.spdxElementId === file.SPDXID);
			const { name } = packages.find((p) => p.SPDXID === owner.relatedSpdxElement);
			return name === "libc6" ? "libc6 (>= 2.36)" : name;
		};
		console.log([...new Set([...libraries.map(packageOf), "ca-certificates"])].join(", "));
	' "$tree/usr/share/sbom/$name.spdx.json" $(readelf -d "$tree/usr/bin/$name" |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | grep -v '^ld-linux' | sort -u)
}

config()
{
	case $name in
	coroot-node-agent)
		echo "# Options of coroot-node-agent, as in --help: see docs/options-node-agent.md."
		echo "collector-endpoint: http://127.0.0.1:10301"
		;;
	*)
		echo "# Options of coroot-cluster-agent, as in --help: see docs/options-cluster-agent.md."
		echo "listen: 127.0.0.1:10301"
		;;
	esac
}

cat >"$scratch/root/DEBIAN/control" <<EOF
Package: $name
Version: $number
Architecture: $architecture
Section: admin
Priority: optional
Maintainer: Coroot <contact@coroot.com>
Homepage: https://coroot.com
Installed-Size: $(du -sk --apparent-size "$scratch/root" | cut -f 1)
Depends: $(depends)
$([ "$name" != coroot-cluster-agent ] || echo "Recommends: coroot-cluster-agent-engine")
Description: $(describe)
 A continuous profiler for Linux hosts and Kubernetes.
EOF
# an empty line would end the paragraph
sed -i '/^$/d' "$scratch/root/DEBIAN/control"
if [ -e "$tree$service" ]; then
	file=/etc/coroot/${name#coroot-}.yaml
	# a key may be in it
	install -D -m 0600 /dev/null "$scratch/root$file"
	[ "$name" = coroot-node-agent ] || chmod 0644 "$scratch/root$file"
	config >"$scratch/root$file"
	echo "$file" >"$scratch/root/DEBIAN/conffiles"
	for script in postinst prerm postrm; do
		sed "s|@NAME@|$name|g" "$here/deb/$script" >"$scratch/root/DEBIAN/$script"
		chmod 0755 "$scratch/root/DEBIAN/$script"
	done
fi
find "$scratch/root" ! -name libchdb.so -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz -z"${DEB_LEVEL:-6}" -b "$scratch/root" \
	"$folder/${name}_${number}_$architecture.deb" >/dev/null
