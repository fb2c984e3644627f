#!/bin/sh
# push-images.sh IMAGE…: pushes coroot-IMAGE.tar of all folders in IMAGE_DIRS, one for each
# architecture, to IMAGE_REGISTRY as one name with the tag IMAGE_TAG, and prints its digest. Credentials are those of "buildah login" or "docker login". IMAGE_PUSH_FLAGS are options of
# "buildah manifest push", for example --tls-verify=false.
set -eu
buildah=$(dirname "$0")/private-buildah.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec 9>"$DEPS/images/lock"
flock 9
for image in "$@"; do
	name=$IMAGE_REGISTRY/coroot-$image:$IMAGE_TAG
	list=localhost/push-$$-$image
	$buildah manifest create "$list" >/dev/null
	for dir in $IMAGE_DIRS; do
		archive=$(readlink -f "$dir")/coroot-$image.tar
		[ ! -f "$archive" ] || $buildah manifest add "$list" "docker-archive:$archive" >/dev/null
	done
	# shellcheck disable=SC2086 # a list of options
	$buildah manifest push -q --all --rm --format v2s2 --digestfile "$work/digest" \
		${IMAGE_PUSH_FLAGS:-} "$list" "docker://$name" || {
		$buildah manifest rm "$list" >/dev/null
		exit 1
	}
	echo "$name@$(cat "$work/digest")"
done
