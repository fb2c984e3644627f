// kubenode is a whole Kubernetes in one program: etcd, the control plane, a kubelet, kube-proxy,
// CoreDNS and kubectl. One program, because they share nearly all of their packages, and compiling
// those is what the build costs.
//
//	kubenode COMPONENT [FLAG...]    or under a link named like the component
//	kubenode coredns COREFILE
//	kubenode compact ENDPOINT       what "etcdctl compact --physical" does to the newest revision
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coredns/caddy"
	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// what a cluster's Corefile names
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"

	// as the components' own main packages do: metrics of clients and of the build
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// component makes the command lines of long-running parts that are cobra commands.
func component(command func() *cobra.Command) func([]string) int {
	return func([]string) int { return cli.Run(command()) }
}

// Each gets its own command line, os.Args already set to it, and returns an exit status.
var programs = map[string]func(args []string) int{
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllermanager.NewControllerManagerCommand),
	"kube-scheduler": component(func() *cobra.Command {
		return scheduler.NewSchedulerCommand()
	}),
	"kube-proxy": component(proxy.NewProxyCommand),
	"kubelet": component(func() *cobra.Command {
		return kubelet.NewKubeletCommand(context.Background())
	}),
	"kubectl": runKubectl,
	"etcd":    func(args []string) int { etcdmain.Main(args); return 0 },
	"compact": compact,
	"coredns": runCoreDNS,
}

// runKubectl prints errors as kubectl users know them, and ends with its exit statuses.
func runKubectl([]string) int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

// runCoreDNS serves what a Corefile says, until it is killed.
func runCoreDNS(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubenode coredns COREFILE")
		return 2
	}
	contents, err := os.ReadFile(args[1])
	if err == nil {
		dnsserver.Quiet = true
		caddy.Quiet = true
		var server *caddy.Instance
		server, err = caddy.Start(caddy.CaddyfileInput{Contents: contents, Filepath: args[1], ServerTypeName: "dns"})
		if err == nil {
			server.Wait()
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "kubenode coredns:", err)
	return 1
}

// compact drops everything that etcd remembers of the past, so that any resource version
// older than now has expired.
func compact(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubenode compact ENDPOINT")
		return 2
	}
	if err := compactNow(args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "kubenode compact:", err)
		return 1
	}
	return 0
}

func compactNow(endpoint string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: ctx})
	if err != nil {
		return err
	}
	defer client.Close()
	// any answer tells the newest revision
	answer, err := client.Get(ctx, "revision", clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	revision := answer.Header.Revision
	if _, err = client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	fmt.Println(revision)
	return nil
}

func main() {
	args := os.Args
	args[0] = filepath.Base(args[0])
	run := programs[args[0]]
	if run == nil && len(args) > 1 {
		args = args[1:]
		run = programs[args[0]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: kubenode etcd|kube-apiserver|kube-controller-manager|kube-scheduler|"+
			"kube-proxy|kubelet|kubectl|coredns|compact [flags]")
		os.Exit(2)
	}
	os.Args = args
	os.Exit(run(args))
}
