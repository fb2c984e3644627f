package main

import (
	"compress/gzip"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

const hugeBytes = 100 << 20

var (
	slowTime   = flag.Duration("slow", 5*time.Second, "how long /bad/slow takes to answer")
	redirectTo = flag.String("redirect", "http://example.test", "where /bad/redirect leads")
)

// By the MODE of /bad/MODE/debug/pprof/…; good is how the request is answered rightly.
var badModes = map[string]func(w http.ResponseWriter, r *http.Request, good http.Handler){
	// answers rightly, but late
	"slow": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		time.Sleep(*slowTime)
		good.ServeHTTP(w, r)
	},
	// never answers
	"hang": func(w http.ResponseWriter, r *http.Request, good http.Handler) { <-r.Context().Done() },
	// answers a right profile, one byte per second
	"trickle": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		for _, b := range rightAnswer(r, good) {
			if _, err := w.Write([]byte{b}); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Second)
		}
	},
	// 100 MB of zeros, with their length in the header and without
	"huge": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		w.Header().Set("Content-Length", strconv.Itoa(hugeBytes))
		writeZeros(w, hugeBytes)
	},
	"huge-chunked": func(w http.ResponseWriter, r *http.Request, good http.Handler) { writeZeros(w, hugeBytes) },
	// ten times that, in a small gzip file
	"bomb": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		z := gzip.NewWriter(w)
		writeZeros(z, 10*hugeBytes)
		z.Close()
	},
	"garbage": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		io.CopyN(w, rand.Reader, 64<<10)
	},
	"empty": func(w http.ResponseWriter, r *http.Request, good http.Handler) {},
	// what a page for people says to everyone, with 200
	"text": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>Shop</title><p>Welcome to %s", r.URL.Path)
	},
	// half of a gzip file, of the length that the header says
	"truncated": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		body := rightAnswer(r, good)
		w.Write(body[:len(body)/2])
	},
	// the connection breaks before the length that the header says
	"cut": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		body := rightAnswer(r, good)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	},
	"404": func(w http.ResponseWriter, r *http.Request, good http.Handler) { http.NotFound(w, r) },
	"500": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	},
	"redirect": func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		http.Redirect(w, r, *redirectTo+r.URL.Path, http.StatusFound)
	},
}

func rightAnswer(r *http.Request, good http.Handler) []byte {
	recorder := httptest.NewRecorder()
	good.ServeHTTP(recorder, r)
	return recorder.Body.Bytes()
}

func writeZeros(w io.Writer, n int) {
	zeros := make([]byte, 1<<16)
	for ; n > 0; n -= len(zeros) {
		if n < len(zeros) {
			zeros = zeros[:n]
		}
		if _, err := w.Write(zeros); err != nil {
			return
		}
	}
}

func badAnswers(good http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mode, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bad/"), "/")
		answer := badModes[mode]
		if answer == nil {
			http.Error(w, "no such mode: "+mode, http.StatusNotImplemented)
			return
		}
		http.StripPrefix("/bad/"+mode, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, good)
		})).ServeHTTP(w, r)
	})
}
