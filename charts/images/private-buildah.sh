#!/bin/sh
# private-buildah.sh ARGUMENT…: buildah with storage of its own below DEPS, so that it neither sees
# nor changes the images of this machine, and without short names of registries. What a killed one
# leaves in TMPDIR may have the size of an image, so that is there, too; whoever has the lock may
# remove it.
set -eu
export TMPDIR="$DEPS/images/tmp"
mkdir -p "$TMPDIR"
exec buildah --root "$DEPS/images/storage" --runroot "$DEPS/images/run" --storage-driver vfs \
	--registries-conf /dev/null "$@"
