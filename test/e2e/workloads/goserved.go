// A program that burns CPU and keeps memory, and serves net/http/pprof: "ready PORT" on standard output. It ends with
// its standard input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

var kept [][]byte

//go:noinline
func keepServed() {
	for i := 0; i < 64; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

//go:noinline
func burnServed() {
	for n := 0; ; n++ {
		if n < 0 {
			runtime.Gosched()
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	keepServed()
	go burnServed()
	go func() { panic(http.Serve(listener, nil)) }()
	fmt.Println("ready", listener.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
