// Spends CPU in two functions, 60 to 40, as its own thread CPU clock says, and
// prints what it spent: goshare SECONDS
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	quantumMin       = 500000
	quantumMask      = 0x3fffff
	threadCPUClockID = 3
)

var sink uint64
var random uint64 = 88172645463325252

// Random, because equal quanta would alternate at a fixed pace, which a sampler of fixed pace can
// fall in with.
func nextQuantum() int {
	random = random*6364136223846793005 + 1442695040888963407
	return quantumMin + int(random>>33&quantumMask)
}

func cpuNs() uint64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPUClockID, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}

// Both functions use a little stack: Go gives a function that uses none no frame pointer, and
// its caller cannot be seen.

//go:noinline
func spendSixty(quantum int) {
	var last [16]uint64
	x := sink
	for i := 0; i < quantum; i++ {
		x = x*6364136223846793005 + 1442695040888963407
		last[i&15] = x
	}
	sink = last[x&15]
}

type worker struct{ rounds int }

//go:noinline
func (w *worker) spendForty(quantum int) {
	var last [16]uint64
	x := sink | 1
	for i := 0; i < quantum; i++ {
		x ^= x << 13
		x ^= x >> 7
		last[i&15] = x
	}
	sink = last[x&15]
	w.rounds++
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	var sixty, forty uint64
	w := &worker{}
	from := cpuNs()
	for before := from; before-from < uint64(seconds*1e9); {
		first := sixty*2 <= forty*3
		if first {
			spendSixty(nextQuantum())
		} else {
			w.spendForty(nextQuantum())
		}
		now := cpuNs()
		if first {
			sixty += now - before
		} else {
			forty += now - before
		}
		before = now
	}
	fmt.Printf("{\"cpuNs\":%d,\"main.spendSixty\":%d,\"main.(*worker).spendForty\":%d}\n", sixty+forty, sixty, forty)
}
