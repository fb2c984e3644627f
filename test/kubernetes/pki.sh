#!/bin/sh
# Certificates of a cluster, in DIR/pki, and kubeconfig files of its users, in DIR/kubeconfig.
#
#   pki.sh all DIR NODE IP URL                    what the daemons and an administrator need
#   pki.sh node DIR NODE IP URL N                 what the kubelet of one more node needs, kubelet<N>
#   pki.sh cert DIR NAME SUBJECT USAGE [NAMES]    one more, signed by the same CA, as pki/NAME.crt
#       and .key; USAGE is serverAuth or clientAuth, NAMES like DNS:a.test,IP:10.0.0.1
set -eu
umask 077
what=$1 dir=$2
shift 2
mkdir -p "$dir/pki" "$dir/kubeconfig"
dir=$(cd "$dir" && pwd)
cd "$dir/pki"

new_key()
{
	openssl ecparam -name prime256v1 -genkey -noout -out "$1"
}

cert()
{
	new_key "$1.key"
	{
		echo "basicConstraints = CA:FALSE"
		echo "keyUsage = critical, digitalSignature"
		echo "extendedKeyUsage = $3"
		[ -z "${4:-}" ] || echo "subjectAltName = $4"
	} >"$1.ext"
	openssl req -new -key "$1.key" -subj "$2" |
		openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -sha256 \
			-extfile "$1.ext" -out "$1.crt" 2>/dev/null
	rm "$1.ext"
}

# kubeconfig USER: with the certificate of that name
kubeconfig()
{
	cat >"$dir/kubeconfig/$1" <<END
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "$url", certificate-authority: "$dir/pki/ca.crt"}}]
users: [{name: $1, user: {client-certificate: "$dir/pki/$1.crt", client-key: "$dir/pki/$1.key"}}]
contexts: [{name: test, context: {cluster: test, user: $1}}]
current-context: test
END
}

# node NODE IP URL [N]
node()
{
	node=$1 ip=$2 url=$3 n=${4:-}
	cert "kubelet-server$n" "/O=system:nodes/CN=system:node:$node" serverAuth \
		"DNS:localhost,IP:127.0.0.1,IP:$ip,DNS:$node"
	cert "kubelet$n" "/O=system:nodes/CN=system:node:$node" clientAuth
	kubeconfig "kubelet$n"
}

all()
{
	ip=$2 url=$3
	new_key ca.key
	openssl req -x509 -new -key ca.key -sha256 -days 3650 -subj "/CN=test CA" -out ca.crt \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
	names=DNS:localhost,IP:127.0.0.1,IP:$ip
	cert kube-apiserver "/CN=kube-apiserver" serverAuth \
		"$names,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:10.96.0.1"
	cert kubelet-client "/O=system:masters/CN=kube-apiserver" clientAuth
	cert admin "/O=system:masters/CN=admin" clientAuth
	node "$@"
	for user in kube-controller-manager kube-scheduler kube-proxy; do
		cert "$user" "/CN=system:$user" clientAuth
	done
	for user in admin kube-controller-manager kube-scheduler kube-proxy; do
		kubeconfig "$user"
	done
	new_key service-account.key
	openssl ec -in service-account.key -pubout -out service-account.pub 2>/dev/null
}

case $what in
all | cert | node) "$what" "$@" ;;
*) echo "pki.sh: '$what' is none of: all cert node" >&2; exit 2 ;;
esac
