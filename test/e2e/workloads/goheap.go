// Keeps 32 MiB, throws away what it says it did, and is idle otherwise: goheap SECONDS
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"time"
)

const block = 1 << 20

var kept [][]byte
var thrown []byte

//go:noinline
func keepForever() {
	kept = append(kept, make([]byte, 2*block))
}

//go:noinline
func throwAway() {
	thrown = make([]byte, 2*block)
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	// what the linker takes for a use of the profiler
	profiles := len(pprof.Profiles())
	for i := 0; i < 16; i++ {
		keepForever()
	}
	n := 0
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); n++ {
		throwAway()
		time.Sleep(25 * time.Millisecond)
	}
	fmt.Printf("{\"keptBytes\": %d, \"thrownBytes\": %d, \"profiles\": %d}\n", len(kept)*2*block, n*2*block, profiles)
}
