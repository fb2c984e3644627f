// Writes the profiles beside it: what a real Go runtime reports of itself.
// Run once, by hand: go run test/data/make_pprof.go test/data
package main

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sort"
	"time"
)

var kept [][]byte

//go:noinline
func allocate() {
	for i := 0; i < 2000; i++ {
		kept = append(kept, make([]byte, 4096))
	}
}

//go:noinline
func hash(until time.Time) {
	data := make([]byte, 1<<16)
	for time.Now().Before(until) {
		sum := sha256.Sum256(data)
		copy(data, sum[:])
	}
}

//go:noinline
func order(until time.Time) {
	for time.Now().Before(until) {
		v := make([]int, 50000)
		for i := range v {
			v[i] = (i * 7919) % 50021
		}
		sort.Ints(v)
	}
}

func write(dir, name string, fn func(*os.File) error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err == nil {
		err = fn(f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func main() {
	runtime.MemProfileRate = 16 * 1024
	write(os.Args[1], "go_cpu.pb.gz", func(f *os.File) error {
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		start := time.Now()
		hash(start.Add(700 * time.Millisecond))
		order(start.Add(1000 * time.Millisecond))
		pprof.StopCPUProfile()
		return nil
	})
	allocate()
	runtime.GC()
	write(os.Args[1], "go_heap.pb.gz", func(f *os.File) error { return pprof.Lookup("heap").WriteTo(f, 0) })
	runtime.KeepAlive(kept)
}
