#!/bin/sh
# make-image.sh OUT.tar NAME:TAG PROGRAM [ARG...]: a container image that runs PROGRAM with these
# arguments, as "docker save" writes it. In it is nothing but that program and those in $ALSO, all
# in /bin, and the folders in $TREES ("/source:/destination …"), with the libraries that all these
# need. PROGRAM may be a path below a destination.
set -eu
out=$1 name=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin" "$root/etc" "$root/tmp"
chmod 1777 "$root/tmp"

# libraries_of FILE [FOLDER]: those outside of the folder
libraries_of()
{
	# of a static program ldd says nothing with an address in it
	ldd "$1" 2>/dev/null | sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p' | while read -r library; do
		[ -n "${2:-}" ] && [ "${library#"$2"/}" != "$library" ] || [ -e "$root$library" ] ||
			install -D -m 0755 "$library" "$root$library"
	done
}
put()
{
	file=$(command -v "$1")
	install -D -m 0755 "$file" "$root/bin/${file##*/}"
	libraries_of "$file"
}

for tree in ${TREES:-}; do
	mkdir -p "$root${tree#*:}"
	cp -R "${tree%%:*}/." "$root${tree#*:}"
	find "${tree%%:*}" -type f \( -perm -100 -o -name '*.so' \) | while read -r file; do
		libraries_of "$file" "${tree%%:*}"
	done
done
entry=\"/bin/${1##*/}\"
if [ -e "$root$1" ]; then
	entry=\"$1\"
else
	put "$1"
fi
for program in ${ALSO:-}; do
	put "$program"
done
shift
for arg in "$@"; do
	entry="$entry,\"$arg\""
done
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"

tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf "$work/layer.tar" .
digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
cat >"$work/config.json" <<END
{"architecture":"$arch","os":"linux","config":{"Entrypoint":[$entry],"Env":["PATH=/bin"]},
 "rootfs":{"type":"layers","diff_ids":["sha256:$digest"]}}
END
echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$name\"],\"Layers\":[\"layer.tar\"]}]" >"$work/manifest.json"
tar -C "$work" -cf "$out" manifest.json config.json layer.tar
