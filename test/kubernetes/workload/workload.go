// workload is an application whose profiles are known beforehand: it serves net/http/pprof, makes
// load of a size that flags say, counts what it did, and tells it as JSON under /truth.
//
//	/truth            what was done so far; in exact mode the sums that profiles must have
//	/pause, /resume   ends the load and begins it again; both answer like /truth. After /pause
//	                  nothing changes any more, and heap profiles are up to date.
//	/debug/pprof/…    and the same under /app, for path prefixes
//	/bad/MODE/…       answers to /debug/pprof that no application should give, see bad_answers.go
//
// See load.go for the functions that show up in profiles.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"log"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strings"
)

var (
	httpAddr  = flag.String("http", ":8080", "address of the HTTP server")
	httpsAddr = flag.String("https", "", "address of the HTTPS server; empty: none")
	certFile  = flag.String("cert", "", "its certificate")
	keyFile   = flag.String("key", "", "its key")
	clientCA  = flag.String("client-ca", "", "clients of it need a certificate of this CA")
	token     = flag.String("token", "", "profiles need this bearer token")
	basicAuth = flag.String("basic-auth", "", "profiles need this USER:PASSWORD")
	exact     = flag.Bool("exact", false, "profile every allocation, contention and wait, not a sample of them")
	paused    = flag.Bool("paused", false, "no load before /resume")
)

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}

// authorized asks for what -token and -basic-auth say.
func authorized(r *http.Request) bool {
	if *token != "" && r.Header.Get("Authorization") != "Bearer "+*token {
		return false
	}
	user, password, _ := r.BasicAuth()
	return *basicAuth == "" || user+":"+password == *basicAuth
}

// counted counts requests by path, also those that it refuses.
func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		truth.countRequest(r.URL.Path)
		if !authorized(r) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func handler() http.Handler {
	mux := http.NewServeMux()
	good := profiles()
	mux.Handle("/debug/", counted(good))
	mux.Handle("/app/", counted(http.StripPrefix("/app", good)))
	mux.Handle("/bad/", counted(badAnswers(good)))
	mux.HandleFunc("/truth", func(w http.ResponseWriter, r *http.Request) { truth.write(w) })
	mux.HandleFunc("/pause", func(w http.ResponseWriter, r *http.Request) {
		pause()
		truth.write(w)
	})
	mux.HandleFunc("/resume", func(w http.ResponseWriter, r *http.Request) {
		resume()
		truth.write(w)
	})
	return mux
}

func serveHTTPS(h http.Handler) {
	server := &http.Server{Addr: *httpsAddr, Handler: h}
	if *clientCA != "" {
		pem, err := os.ReadFile(*clientCA)
		if err != nil {
			log.Fatal(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			log.Fatalf("%s has no certificate", *clientCA)
		}
		server.TLSConfig = &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	}
	log.Fatal(server.ListenAndServeTLS(*certFile, *keyFile))
}

func main() {
	flag.Parse()
	if *exact {
		runtime.MemProfileRate = 1
		runtime.SetMutexProfileFraction(1)
		runtime.SetBlockProfileRate(1)
		go collectBetweenLoad()
	}
	if *paused {
		pause()
	}
	if err := startLoad(); err != nil {
		log.Fatal(err)
	}
	h := handler()
	if *httpsAddr != "" {
		go serveHTTPS(h)
	}
	log.Printf("%s on %s %s", strings.TrimPrefix(runtime.Version(), "go"), *httpAddr, *httpsAddr)
	log.Fatal(http.ListenAndServe(*httpAddr, h))
}
