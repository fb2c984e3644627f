#!/bin/sh
# build-images.sh OUT IMAGE…: builds each into OUT/coroot-IMAGE.tar, an archive that "docker load",
# "podman load" and "ctr images import" take. An image whose content has not changed is left alone.
# The same content gives the same archive, byte for byte: files have the time of the commit, and
# nothing names this machine.
#
# Environment: that of assemble-roots.sh, and IMAGE_REGISTRY, IMAGE_TAG, IMAGE_ARCH, REVISION, DEPS.
# Buildah's storage below DEPS keeps the layer of libchdb.so: so 550 MB are packed once per version of
# it, for all checkouts.
set -eu
here=$(dirname "$0")
mkdir -p "$1"
out=$(readlink -f "$1")
shift
# What root wrote goes back to the user who called, but for the engine: it is one file with the
# installed one, whoever owns that.
hand_back()
{
	# shellcheck disable=SC2153 # both come from sudo
	[ -z "${SUDO_UID:-}" ] ||
		find "$out" ! -name libchdb.so -exec chown -h "$SUDO_UID:$SUDO_GID" {} +
}
trap hand_back EXIT
buildah=$here/private-buildah.sh
engine_version=$(sha256sum cluster-agent/store/package-lock.json | cut -c 1-12)

# bud TARGET SECONDS ARGUMENT…: one target of the Dockerfile. (A configuration in the format of
# Docker would have a random name of a host in it.)
bud()
{
	target=$1 date=$2
	shift 2
	$buildah bud -q --isolation chroot --pull-never --format oci --arch "$IMAGE_ARCH" \
		--identity-label=false --timestamp "$date" --target "$target" \
		--build-context "build=$out" --build-arg "VERSION=$VERSION" \
		--build-arg "REVISION=$REVISION" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" \
		-f "$here/Dockerfile" "$@" "$here" >/dev/null
}

# the layer of libchdb.so as an image, named by what pins its version
engine()
{
	name=localhost/coroot-engine:$engine_version
	$buildah inspect --type image "$name" >/dev/null 2>&1 || bud engine 0 -t "$name"
	echo "container-image://$name"
}

# what an image is made of, without libchdb.so, as a hash
content()
{
	{
		tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$out/root.image" -c "$1"
		cat "$here/Dockerfile" "$0"
		echo "$2 $engine_version $IMAGE_ARCH $SOURCE_DATE_EPOCH $VERSION $REVISION"
	} | sha256sum
}

mkdir -p "$DEPS/images"
exec 9>"$DEPS/images/lock"
flock 9
# what a killed build left
rm -rf "$DEPS/images/tmp"
[ -z "$($buildah containers -q)" ] || $buildah rm --all >/dev/null
"$here/assemble-roots.sh" "$out" "$@"
for image in "$@"; do
	archive=$out/coroot-$image.tar
	name=$IMAGE_REGISTRY/coroot-$image:$IMAGE_TAG
	content=$(content "$image" "$name")
	if [ ! -f "$archive" ] || [ "$content" != "$(cat "$archive.content" 2>/dev/null)" ]; then
		rm -f "$archive" "$archive.content" "$archive.new"
		context=
		[ "$image" != cluster-agent-store ] || context=--build-context=engine=$(engine)
		bud "$image" "$SOURCE_DATE_EPOCH" ${context:+"$context"} -t "docker-archive:$archive.new:$name"
		mv "$archive.new" "$archive"
		echo "$content" >"$archive.content"
	fi
	echo "$name: $archive"
done
