// Does not refer to any profiler, so its linker switches the one of memory off. For each line that it
// reads it keeps and throws away what it then says; ends when there are no more. With an argument it
// reads nothing, and does so once in each such time: goforce [5s]
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"time"
)

const (
	block  = 1 << 20
	keeps  = 128 << 20
	throws = 512 << 20
)

var kept [][]byte
var thrown []byte

//go:noinline
func keepForced() {
	kept = append(kept, make([]byte, block))
}

//go:noinline
func throwForced() {
	thrown = make([]byte, block)
}

func allocate() {
	kept = nil
	for i := 0; i < keeps/block; i++ {
		keepForced()
	}
	for i := 0; i < throws/block; i++ {
		throwForced()
	}
	// a profile reports what was in use at the second-last collection
	runtime.GC()
	runtime.GC()
	fmt.Printf("{\"keptBytes\": %d, \"thrownBytes\": %d}\n", keeps, throws)
}

func main() {
	fmt.Println("ready")
	if len(os.Args) > 1 {
		pause, err := time.ParseDuration(os.Args[1])
		if err != nil {
			panic(err)
		}
		for ; ; time.Sleep(pause) {
			allocate()
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		allocate()
	}
}
