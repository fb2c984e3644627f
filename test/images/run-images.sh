#!/bin/sh
# Runs test/images/*.test.js on the images in $IMAGE_DIR.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "images: containers need root, and there is no sudo" >&2
		exit 1
	}
	exec sudo --preserve-env=DEPS,CI,PATH,IMAGE_DIR,IMAGE_TAG "$0"
fi
export RUN_DIR=build/images/run
status=0
test/node-test.sh 1200 test/images/images.test.js || status=$?
test/node-test.sh 900 test/images/release.test.js || status=$?
# the unpacked layer of libchdb.so
rm -rf "$RUN_DIR"/images/root-*
# shellcheck disable=SC2153 # both come from sudo
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:$SUDO_GID" build/images
exit $status
