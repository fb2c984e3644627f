#!/bin/sh
# push-charts.sh FOLDER REPOSITORY: pushes the charts of FOLDER to REPOSITORY, "oci://host/path/charts".
# Credentials are those of "helm registry login" or "docker login". HELM_PUSH_FLAGS are options of
# "helm push", for example --plain-http.
set -eu
for chart in "$1"/*.tgz; do
	# shellcheck disable=SC2086 # a list of options
	"$HELM" push ${HELM_PUSH_FLAGS:-} "$chart" "$2" 2>&1 | sed -n 's/^Pushed: //p' |
		grep . || { echo "release: $chart was not pushed to $2" >&2 && exit 1; }
done
