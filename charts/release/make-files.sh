#!/bin/sh
# make-files.sh FOLDER: puts what a release consists of, beside the charts that are there, into
# FOLDER: for each architecture the programs as .tar.gz and .deb and what they are made of as SPDX;
# the notes, what Artifact Hub wants to know, and SHA256SUMS of all.
#
# Sources are the folders of "make images" in IMAGE_DIRS, so that packages and images have the same
# programs. Also in the environment: VERSION, SOURCE_DATE_EPOCH. NO_ENGINE=1 leaves the engine out,
# which has 550 MB. The same input gives the same files.
set -eu
cd "$(dirname "$0")/../.."
here=charts/release
folder=$1
umask 022
export LC_ALL=C
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

architecture_of()
{
	case $(readelf -h "$1" | sed -n 's/ *Machine: *//p') in
	*X86-64) echo amd64 ;;
	AArch64) echo arm64 ;;
	*) echo "release: $1: unknown architecture" >&2 && exit 1 ;;
	esac
}

# add_unit NAME BINDIR FOLDER
add_unit()
{
	install -d "$3"
	sed "s|^ExecStart=/usr/local/bin/|ExecStart=$2/|" "charts/systemd/$1.service" >"$3/$1.service"
}

# tree NAME ROOT: what the archive and the package have in common, below $scratch/NAME
tree()
{
	rm -rf "${scratch:?}/$1"
	install -D -m 0755 "$2/usr/bin/$1" "$scratch/$1/usr/bin/$1"
	[ ! -d "$2/usr/lib/$1" ] || {
		install -d "$scratch/$1/usr/lib"
		cp -r "$2/usr/lib/$1" "$scratch/$1/usr/lib/"
	}
	install -D -m 0644 LICENSE "$scratch/$1/usr/share/doc/$1/copyright"
	[ ! -d "$2/usr/share/doc/async-profiler" ] ||
		install -m 0644 "$2/usr/share/doc/async-profiler/copyright" \
			"$scratch/$1/usr/share/doc/$1/async-profiler.copyright"
	install -D -m 0644 "$2/usr/share/sbom/$1.spdx.json" \
		"$scratch/$1/usr/share/sbom/$1.spdx.json"
}

# archive NAME ARCHITECTURE: for /usr/local, as "make install" would install it
archive()
{
	base=$1-$VERSION-linux-$2
	rm -rf "${scratch:?}/$base"
	cp -r "$scratch/$1/usr" "$scratch/$base"
	add_unit "$1" /usr/local/bin "$scratch/$base/lib/systemd/system"
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		-C "$scratch" -cf "$folder/$base.tar" "$base"
	gzip -n -9 "$folder/$base.tar"
}

for dir in $IMAGE_DIRS; do
	for name in coroot-node-agent coroot-cluster-agent; do
		root=$dir/root.image/${name#coroot-}
		architecture=$(architecture_of "$root/usr/bin/$name")
		tree "$name" "$root"
		archive "$name" "$architecture"
		cp "$root/usr/share/sbom/$name.spdx.json" \
			"$folder/$name-$VERSION-linux-$architecture.spdx.json"
		add_unit "$name" /usr/bin "$scratch/$name/lib/systemd/system"
		"$here/make-deb.sh" "$folder" "$name" "$architecture" "$scratch/$name"
	done
	[ -n "${NO_ENGINE:-}" ] || [ ! -d "$dir/root.image/engine" ] ||
		"$here/make-deb.sh" "$folder" coroot-cluster-agent-engine "$architecture" \
			"$dir/root.image/engine"
done
"$here/check-version.sh" "$VERSION" >"$folder/release-notes.txt"
cp "$here/artifacthub-repo.yml" "$folder/"
(cd "$folder" && rm -f SHA256SUMS && sha256sum -- * >"$scratch/sums")
mv "$scratch/sums" "$folder/SHA256SUMS"
chmod 0644 "$folder/SHA256SUMS"
echo "release: $(wc -l <"$folder/SHA256SUMS") files in $folder"
