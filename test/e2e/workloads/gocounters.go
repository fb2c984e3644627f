// Allocates for each line that it is given, collects garbage, and answers with what its runtime has counted since the last answer,
// and has now. It has no symbols and, as it never refers to it, no memory profiler.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
)

const rounds = 40000

var kept [][]byte
var thrown []byte

func allocate() {
	for i := 0; i < rounds; i++ {
		thrown = make([]byte, 16+i%4096)
		if i%100 == 0 {
			kept = append(kept, thrown)
		}
	}
	runtime.GC()
}

func main() {
	var last, m runtime.MemStats
	runtime.ReadMemStats(&last)
	fmt.Println("{}")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); last = m {
		go func() { select {} }()
		allocate()
		runtime.ReadMemStats(&m)
		fmt.Printf("{\"bytes\": %d, \"objects\": %d, \"cycles\": %d, \"pauseNs\": %d, \"goalBytes\": %d, \"goroutines\": %d}\n",
			m.TotalAlloc-last.TotalAlloc, m.Mallocs-last.Mallocs, m.NumGC-last.NumGC, m.PauseTotalNs-last.PauseTotalNs,
			m.NextGC, runtime.NumGoroutine())
	}
}
