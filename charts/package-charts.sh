#!/bin/sh
# package-charts.sh FOLDER REGISTRY VERSION CHART...: packages charts into FOLDER/CHART-VERSION.tgz, with
# the registry of the images as default, if one is given, and the version as tag of the images.
#
# Helm wants a version of three numbers: "v1.2.3" becomes 1.2.3, and anything else, as a name of
# git, what follows 0.0.0.
set -eu
folder=$1 registry=$2 version=$3
shift 3
cd "$(dirname "$0")"

number=${version#v}
echo "$number" | grep -qE '^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$' ||
	number=0.0.0-v$(printf '%s' "$version" | tr -c '0-9A-Za-z.-' '-')

case $folder in /*) ;; *) folder=../$folder ;; esac
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for chart in "$@"; do
	cp -r "$chart" "$scratch/$chart"
	if [ -n "$registry" ]; then
		sed -i "s|^\( *registry:\) \"\"\$|\1 \"$registry\"|" "$scratch/$chart/values.yaml"
		grep -q "^ *registry: \"$registry\"\$" "$scratch/$chart/values.yaml"
	fi
	"$HELM" package "$scratch/$chart" --version "$number" --app-version "$version" -d "$folder" |
		sed "s|.*/|charts: |"
done
