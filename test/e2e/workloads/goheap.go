// Keeps 64 MiB and is idle. To each line of its input, a number of seconds, it answers with what it has thrown away
// for so long and what it keeps; ends when there are no more.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
)

const block = 4 << 20

var kept [][]byte
var thrown []byte

//go:noinline
func keepForever() {
	kept = append(kept, make([]byte, block))
}

//go:noinline
func throwAway() {
	thrown = make([]byte, block)
}

func main() {
	// what the linker takes for a use of the profiler
	profiles := len(pprof.Profiles())
	for i := 0; i < 16; i++ {
		keepForever()
	}
	// a profile reports what was in use at the second-last collection
	runtime.GC()
	runtime.GC()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		seconds, err := strconv.ParseFloat(in.Text(), 64)
		if err != nil {
			panic(err)
		}
		n := 0
		for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); n++ {
			throwAway()
			time.Sleep(25 * time.Millisecond)
		}
		runtime.GC()
		runtime.GC()
		fmt.Printf("{\"keptBytes\": %d, \"thrownBytes\": %d, \"profiles\": %d}\n", len(kept)*block, n*block, profiles)
	}
}
