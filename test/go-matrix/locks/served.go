//go:build !bare
// +build !bare

package main

import (
	"net"
	"net/http"
	_ "net/http/pprof"
)

// With net/http/pprof: where it answers.
func serve() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, nil)
	return l.Addr().String()
}
