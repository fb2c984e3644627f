package main

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var (
	cpuMillis   = flag.Int("cpu", 0, "CPU time to spend in burnCPU, in thousandths of a core")
	heapObjects = flag.Int("heap-objects", 0, "objects per second to allocate in makeObject")
	heapBytes   = flag.String("heap-bytes", "1024", "their size; several, as in 512,1024, take turns (with one stack)")
	heapKeep    = flag.Int("heap-keep", 1000, "how many of them stay alive")
	mutexRate   = flag.Int("mutex", 0, "contentions per second that releaseLock ends")
	mutexHold   = flag.Duration("mutex-hold", 10*time.Millisecond, "how long each lasts at least")
	blockRate   = flag.Int("block", 0, "waits per second in waitForChannel")
	blockWait   = flag.Duration("block-wait", 10*time.Millisecond, "how long each lasts at least")
	goroutines  = flag.Int("goroutines", 0, "goroutines that stay in parkForever")
)

// Load is made in small units, each with this held for reading; held for writing there is none.
var (
	running   sync.RWMutex
	pauseLock sync.Mutex
	isPaused  bool
)

func pause() {
	pauseLock.Lock()
	defer pauseLock.Unlock()
	if !isPaused {
		running.Lock()
		isPaused = true
	}
	// a heap profile tells of what was before the last collection but one
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
}

func resume() {
	pauseLock.Lock()
	defer pauseLock.Unlock()
	if isPaused {
		running.Unlock()
		isPaused = false
	}
}

// Collections beside the load would make the runtime allocate objects of its own within makeObject,
// which are not counted; so they take place while there is none, and only then.
func collectBetweenLoad() {
	debug.SetGCPercent(-1)
	for {
		// after the one before: on a busy machine one after the other would leave no time for the load
		time.Sleep(500 * time.Millisecond)
		pauseLock.Lock()
		if !isPaused {
			running.Lock()
		}
		// profiles leave something behind even in a pause
		runtime.GC()
		if !isPaused {
			running.Unlock()
		}
		pauseLock.Unlock()
	}
}

// ---- CPU ----

const (
	burnPeriod       = 20 * time.Millisecond
	threadCPUClockID = 3
)

func threadCPU() time.Duration {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPUClockID, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

// burnCPU computes until the thread has spent that much, and returns what it has spent.
//
//go:noinline
func burnCPU(budget time.Duration) time.Duration {
	var words [16]uint64
	start := threadCPU()
	for x := uint64(1); ; {
		for i := 0; i < 20000; i++ {
			x = x*6364136223846793005 + 1442695040888963407
			words[i&15] += x
		}
		if spent := threadCPU() - start; spent >= budget {
			return spent
		}
	}
}

func spendCPU(millis int) {
	runtime.LockOSThread()
	budget := burnPeriod * time.Duration(millis) / 1000
	for next := time.Now(); ; {
		running.RLock()
		truth.CPUNs.Add(int64(burnCPU(budget)))
		running.RUnlock()
		// after a pause, or on a busy machine, what was missed is not made up for
		if next = next.Add(burnPeriod); time.Since(next) > burnPeriod {
			next = time.Now()
		}
		time.Sleep(time.Until(next))
	}
}

// ---- heap ----

//go:noinline
func makeObject(size int) []byte {
	return make([]byte, size)
}

func fillHeap(sizes []int) func() {
	kept := make([][]byte, *heapKeep)
	made := 0
	return func() {
		size := sizes[made%len(sizes)]
		object := makeObject(size)
		if len(kept) > 0 {
			kept[made%len(kept)] = object
		}
		made++
		truth.AllocatedObjects.Add(1)
		truth.AllocatedBytes.Add(int64(size))
	}
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	for _, word := range strings.Split(text, ",") {
		size, err := strconv.Atoi(word)
		if err != nil || size <= 0 {
			return nil, fmt.Errorf("-heap-bytes: %q is no size", word)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// ---- mutex ----

// The upper bits of a sync.Mutex count who waits for it (all releases of Go so far).
func hasWaiter(mu *sync.Mutex) bool {
	return *(*int32)(unsafe.Pointer(mu))>>3 > 0
}

//go:noinline
func takeLock(mu *sync.Mutex) {
	mu.Lock()
}

// A contention is charged to whoever ends it.
//
//go:noinline
func releaseLock(mu *sync.Mutex) {
	mu.Unlock()
}

// contend makes one contention: a second goroutine waits for what this one holds.
func contend() {
	var mu sync.Mutex
	waited := make(chan time.Duration)
	mu.Lock()
	go func() {
		start := time.Now()
		takeLock(&mu)
		waited <- time.Since(start)
		mu.Unlock()
	}()
	for !hasWaiter(&mu) {
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(*mutexHold)
	releaseLock(&mu)
	truth.MutexDelayNs.Add(int64(<-waited))
	truth.MutexContentions.Add(1)
}

// ---- block ----

//go:noinline
func waitForChannel(c chan struct{}) {
	<-c
}

// waitOnce makes one goroutine wait once.
func waitOnce() {
	c := make(chan struct{})
	begun := make(chan struct{})
	waited := make(chan time.Duration)
	go func() {
		start := time.Now()
		close(begun)
		waitForChannel(c)
		waited <- time.Since(start)
	}()
	<-begun
	time.Sleep(*blockWait)
	// without a buffer this succeeds only once the other goroutine waits
	for sent := false; !sent; {
		select {
		case c <- struct{}{}:
			sent = true
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
	truth.BlockDelayNs.Add(int64(<-waited))
	truth.BlockWaits.Add(1)
}

// ---- goroutines ----

//go:noinline
func parkForever() {
	select {}
}

// ---- all of it ----

// everySecond does n units a second; what a busy machine makes late is made up for within it.
// A unit waits for the one before, or is done beside it. The lock is taken once for each: a second
// time, behind a pause that waits for it, would be for ever.
func everySecond(n int, beside bool, unit func()) {
	for next := time.Now(); ; {
		running.RLock()
		locked := func() {
			unit()
			running.RUnlock()
		}
		if beside {
			go locked()
		} else {
			locked()
		}
		if next = next.Add(time.Second / time.Duration(n)); time.Since(next) > time.Second {
			next = time.Now()
		}
		time.Sleep(time.Until(next))
	}
}

func startLoad() error {
	sizes, err := parseSizes(*heapBytes)
	if err != nil {
		return err
	}
	for left := *cpuMillis; left > 0; left -= 1000 {
		millis := left
		if millis > 1000 {
			millis = 1000
		}
		go spendCPU(millis)
	}
	if *heapObjects > 0 {
		go everySecond(*heapObjects, false, fillHeap(sizes))
	}
	if *mutexRate > 0 {
		go everySecond(*mutexRate, true, contend)
	}
	if *blockRate > 0 {
		go everySecond(*blockRate, true, waitOnce)
	}
	for i := 0; i < *goroutines; i++ {
		go parkForever()
	}
	truth.Goroutines = *goroutines
	return nil
}
