// Pairs of goroutines that wait for each other's lock all the time. To each line of its input it answers with
// what it knows about that: {"atNs", "waits", "waitedNs", "mutexRate", "blockCycles"}, and ends with its input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A lock is held for far longer than who waits for it needs, on a busy machine, to notice that it is free.
const pairs = 320
const held = 10 * time.Millisecond

var waits, waitedNs int64

type pair struct{ m sync.Mutex }

//go:noinline
func (p *pair) turn() {
	if !p.m.TryLock() {
		begin := time.Now()
		p.m.Lock()
		atomic.AddInt64(&waits, 1)
		atomic.AddInt64(&waitedNs, int64(time.Since(begin)))
	}
	time.Sleep(held)
	p.m.Unlock()
}

// What the block profiler has counted: it grows while that is on.
func blockCycles() (sum int64) {
	records := make([]runtime.BlockProfileRecord, 1000)
	n, ok := runtime.BlockProfile(records)
	if !ok {
		panic("more records than there can be")
	}
	for _, r := range records[:n] {
		sum += r.Cycles
	}
	return sum
}

func main() {
	began := time.Now()
	for i := 0; i < pairs; i++ {
		p := &pair{}
		for k := 0; k < 2; k++ {
			go func() {
				for {
					p.turn()
				}
			}()
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Printf("{\"atNs\": %d, \"waits\": %d, \"waitedNs\": %d, \"mutexRate\": %d, \"blockCycles\": %d}\n",
			time.Since(began), atomic.LoadInt64(&waits), atomic.LoadInt64(&waitedNs), runtime.SetMutexProfileFraction(-1), blockCycles())
	}
}
