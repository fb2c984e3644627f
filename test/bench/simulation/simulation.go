// Plays everything around a cluster-agent that forwards: an API server with many annotated pods, the
// pods themselves, and the receiver of the profiles. Without an agent it does nothing.
//
// Prints one line of JSON with its addresses, and then waits. On the receiver's port there are
// also POST /freeze (pods answer 503 from then on, so that all that was served can arrive) and GET
// /report (what was asked for, when, and whether what came is what was served).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

func listen(address string) (net.Listener, int) {
	l, err := net.Listen("tcp4", address)
	if err != nil {
		log.Fatal(err)
	}
	return l, l.Addr().(*net.TCPAddr).Port
}

func serve(l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second}
	log.Fatal(server.Serve(l))
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("simulation: ")
	pods := flag.Int("pods", 5000, "pods of the simulated cluster")
	interval := flag.Duration("interval", time.Minute, "the agent's scrape interval, to judge its punctuality")
	flag.Parse()
	if *pods < 1 || *pods > maxPods {
		log.Fatalf("-pods: not between 1 and %d", maxPods)
	}

	apps := makeApps()
	cluster := newCluster(*pods, apps, *interval)
	receiver := newReceiver(cluster)
	podListener, podPort := listen("0.0.0.0:0")
	apiListener, apiPort := listen("127.0.0.1:0")
	ownListener, ownPort := listen("127.0.0.1:0")
	go serve(podListener, cluster)
	go serve(apiListener, newAPI(cluster, podPort))

	mux := http.NewServeMux()
	mux.HandleFunc("/v1/profiles", receiver.upload)
	mux.HandleFunc("/freeze", func(w http.ResponseWriter, r *http.Request) { cluster.frozen.Store(true) })
	mux.HandleFunc("/report", receiver.report)
	go func() {
		json.NewEncoder(os.Stdout).Encode(map[string]string{
			"api":      fmt.Sprintf("http://127.0.0.1:%d", apiPort),
			"receiver": fmt.Sprintf("http://127.0.0.1:%d", ownPort),
			"pod":      fmt.Sprintf("http://%s:%d", podIP(0), podPort),
		})
	}()
	serve(ownListener, mux)
}
