// Known call chains of Go: closures, interfaces, deferred calls, goroutines, assembly of the
// standard library, garbage collection, the vDSO on the stack of the thread:
//
//	going SECONDS
package main

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"os"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const spins = 200000

var sink uint32

//go:noinline
func accSpin(n int) {
	x := atomic.LoadUint32(&sink) | 1
	for i := 0; i < n; i++ {
		x = x*1664525 + 1013904223 + x>>7
	}
	atomic.StoreUint32(&sink, x)
}

//go:noinline
func accRecurse(n int) int {
	if n == 0 {
		accSpin(spins)
		return 1
	}
	return accRecurse(n-1) + 1
}

type accShape interface{ accArea(n int) int }
type accSquare struct{ side int }

//go:noinline
func (s *accSquare) accArea(n int) int {
	accSpin(n)
	return s.side * n
}

//go:noinline
func accDynamic(s accShape) int { return s.accArea(spins) + 1 }

//go:noinline
func accDeferred() {
	defer accSpin(spins / 2)
	defer func() { recover() }()
	accPanic(5)
}

//go:noinline
func accPanic(n int) int {
	if n == 0 {
		panic("for the caller")
	}
	return accPanic(n-1) + 1
}

var block = make([]byte, 4096)

//go:noinline
func accHash() {
	for i := 0; i < 10; i++ {
		a, b, c := md5.Sum(block), sha256.Sum256(block), sha512.Sum512(block)
		block[i] = a[0] ^ b[0] ^ c[0]
	}
}

//go:noinline
func accSort() {
	values := make([]int, 300)
	for i := range values {
		values[i] = i * 7919 % 1009
	}
	sort.Slice(values, func(i, j int) bool {
		accSpin(50)
		return values[i] < values[j]
	})
	atomic.AddUint32(&sink, uint32(values[3]))
}

var kept [64][]byte

//go:noinline
func accAllocate() {
	for i := 0; i < 200; i++ {
		kept[i%64] = append([]byte(strconv.Itoa(i)), make([]byte, 1000)...)
	}
}

//go:noinline
func accClock() {
	var passed time.Duration
	for i := 0; i < 1000; i++ {
		passed += time.Since(time.Now())
	}
	atomic.AddUint32(&sink, uint32(passed))
}

//go:noinline
func accTurn(s accShape) {
	accRecurse(20)
	accDynamic(s)
	accDeferred()
	accHash()
	accSort()
	accAllocate()
	accClock()
	accMore()
	accSpin(1)
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func main() {
	seconds := 2.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	done := make(chan bool)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				accRecurse(5)
			}
		}
	}()
	for s := (&accSquare{3}); cpuSeconds() < seconds; {
		accTurn(s)
	}
	done <- true
}
