#!/bin/bash
# deb_life.sh OLD NEW PORT: in a fresh Debian (test/setup/debian-tree.sh), installs the packages of
# folder OLD, edits their configuration, lets the cluster agent work, upgrades to those of NEW,
# removes and purges them. Fails at the first thing that is not as it should be.
set -eu
old=$1 new=$2 port=$3
data=/var/lib/coroot-cluster-agent
unit=/lib/systemd/system/coroot-cluster-agent.service

fail()
{
	echo "deb: $*" >&2
	exit 1
}
expect()
{
	[ "$2" = "$3" ] || fail "$1: \"$2\", not \"$3\""
}
apt()
{
	apt-get "$@" >/tmp/apt.log 2>&1 </dev/null || { cat /tmp/apt.log; fail "apt-get $*"; }
}
get()
{
	exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
	printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' "$1" >&3
	head -n 1 <&3 | grep -q ' 200 '
}

apt install -y --no-install-recommends "$old"/coroot-*-agent_*_amd64.deb
for name in coroot-node-agent coroot-cluster-agent; do
	expect "$name" "$(stat -c '%U:%G %a' "/usr/bin/$name")" "root:root 755"
	"/usr/bin/$name" --version | grep -q "^$name " || fail "$name does not run"
	grep -q "^ExecStart=/usr/bin/$name " "/lib/systemd/system/$name.service" || fail "unit of $name"
	grep -qx "/etc/coroot/${name#coroot-}.yaml" "/var/lib/dpkg/info/$name.conffiles"
done
expect "the file that may have a key" "$(stat -c %a /etc/coroot/node-agent.yaml)" 600
[ -f /usr/lib/coroot-node-agent/libasyncProfiler.so ] || fail "no library for JVMs"
[ -z "$(dpkg -V coroot-node-agent coroot-cluster-agent)" ] || fail "files differ from the package"

# as the unit starts it
printf 'listen: 127.0.0.1:%s\nclickhouse-address: 127.0.0.1:1\n' "$port" >/etc/coroot/cluster-agent.yaml
mkdir -m 0700 "$data"
command=$(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$unit" | sed -n 's|%S|/var/lib|g; s/^ExecStart=//p')
$command >/tmp/agent.log 2>&1 &
agent=$!
for _ in $(seq 600); do
	! get /healthz 2>/dev/null || break
	kill -0 "$agent" 2>/dev/null || { cat /tmp/agent.log; fail "the agent has ended"; }
	sleep 0.1
done
get /healthz || { cat /tmp/agent.log; fail "the agent does not answer"; }
kill "$agent"
wait "$agent" || fail "the agent ended with $?"
[ -n "$(ls -A "$data")" ] || fail "the agent has written nothing"
before=$(find "$data" | sort)

apt install -y --no-install-recommends "$new"/coroot-*-agent_*_amd64.deb
# shellcheck disable=SC2016 # a format of dpkg-query
expect "version" "$(dpkg-query -f '${Version}' -W coroot-cluster-agent)" 1.2.4~rc.1
expect "data after the upgrade" "$(find "$data" | sort)" "$before"
grep -q "^listen: 127.0.0.1:$port$" /etc/coroot/cluster-agent.yaml || fail "the upgrade changed the options"

apt remove -y coroot-node-agent coroot-cluster-agent
for path in /usr/bin/coroot-cluster-agent "$unit"; do
	[ ! -e "$path" ] || fail "remove leaves $path"
done
expect "data after the removal" "$(find "$data" | sort)" "$before"
[ -f /etc/coroot/cluster-agent.yaml ] || fail "remove removes the options"

apt purge -y coroot-node-agent coroot-cluster-agent
for path in "$data" /var/lib/coroot-node-agent /etc/coroot; do
	[ ! -e "$path" ] || fail "purge leaves $path"
done
echo "deb: all as it should be"
