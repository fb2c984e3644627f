// A program that says what its memory manager has counted and then stands still: "ready" and a line "name value" each, of
// runtime.ReadMemStats. With the argument "busy" it says "ready" alone, allocates, collects garbage and asks for its
// numbers again and again. It ends with its standard input.
package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

var kept [][]byte
var words []string

func allocate(n int) {
	for i := 0; i < n; i++ {
		b := make([]byte, 1+i%40000) // of every size, large ones too
		if i%17 == 0 {
			kept = append(kept, b)
		}
		words = append(words[:i%1000], strings.Repeat("x", i%9)+strconv.Itoa(i))
	}
}

func busy() {
	for i := 0; i < 3; i++ {
		go func() {
			var garbage [256][]byte
			for n := 0; ; n++ {
				garbage[n%256] = make([]byte, 8+n%9000)
			}
		}()
	}
	go askForEver()
}

func put(line []byte, name string, value uint64) []byte {
	line = append(line, name...)
	line = append(line, ' ')
	line = strconv.AppendUint(line, value, 10)
	return append(line, '\n')
}

func main() {
	line := make([]byte, 0, 4096)
	in := make([]byte, 1)
	var m runtime.MemStats
	if len(os.Args) > 1 && os.Args[1] == "busy" {
		busy()
	} else {
		allocate(20000)
		runtime.GC()
		allocate(3000)
		runtime.GC()
		allocate(100)
		live := liveHeap()
		runtime.ReadMemStats(&m)
		line = put(line, "cycles", uint64(m.NumGC))
		line = put(line, "pause_ns", m.PauseTotalNs)
		line = put(line, "alloc_bytes", m.TotalAlloc)
		line = put(line, "alloc_objects", m.Mallocs)
		line = put(line, "goal_bytes", m.NextGC)
		line = put(line, "heap_bytes", m.HeapAlloc)
		line = put(line, "live_bytes", live)
	}
	line = append(line, "ready\n"...)
	os.Stdout.Write(line)
	os.Stdin.Read(in)
	runtime.KeepAlive(kept)
}
