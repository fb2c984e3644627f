// Spends its CPU time in one line of a function that is inlined into another one, which is inlined,
// too: golines SECONDS [FILE]. Prints what it used, and writes its own CPU profile to FILE.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
	"unsafe"
)

const processCPUClockID = 2

var sink uint64

func cpuNs() uint64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, processCPUClockID, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}

// Divisions take far longer than all else here.
func mix(x, y uint64) uint64 {
	return 1<<63/(1<<62/(1<<61/(1<<60/(x|y|1)|y|1)|y|1)|y|1) ^ x // line of mix
}

func step(x uint64) uint64 {
	y := x<<7 ^ 88172645463325252
	return mix(x, y) + y // line of step
}

// Uses a little stack: Go gives a function that uses none no frame pointer, and its caller cannot be
// seen.
//
//go:noinline
func spend(n int) {
	var last [16]uint64
	x := sink
	for i := 0; i < n; i++ {
		x = step(x) // line of spend
		last[i&15] = x
	}
	sink = last[x&15]
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 2 {
		file, err := os.Create(os.Args[2])
		if err != nil {
			panic(err)
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			panic(err)
		}
		defer pprof.StopCPUProfile()
	}
	from := cpuNs()
	for cpuNs()-from < uint64(seconds*1e9) {
		spend(1000000) // line of main
	}
	fmt.Printf("{\"cpuNs\":%d}\n", cpuNs()-from)
}
