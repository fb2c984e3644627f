// A program whose heap profile has as many records as its first argument says, in stacks of 20 to 30 frames; of as
// many percent of them as the second argument says something is still in use. The third one is MemProfileRate, after
// that. "ready ADDRESS RECORDS" on standard output: net/http/pprof answers there. It ends with its standard input, on
// whose lines it
//
//	grow SECONDS      adds records and garbage and collects it all the while, then says "grown OBJECTS": how many
//	                  were allocated in newBuffer since the start, by the program's own profile
//	allocate SECONDS  allocates on both processors, and says "allocated NS": CPU time of the program for one object
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	depthMin   = 16
	depthRange = 11
)

// A way through the functions of paths.go.
type walk struct {
	random uint64
	left   int // calls until it allocates
	size   int
}

func (w *walk) next(n uint64) uint64 {
	w.random ^= w.random << 13
	w.random ^= w.random >> 7
	w.random ^= w.random << 17
	return w.random >> 11 % n
}

// Three of four calls go to the first callee: programs have paths that are busier than others.
func (w *walk) turn() int {
	n := int(w.next(8)) - 5
	if n < 0 {
		return 0
	}
	return n
}

func (w *walk) arrived() bool {
	w.left--
	return w.left < 0
}

func newBuffer(n int) []byte { return make([]byte, n) }

var kept [][]byte

func (w *walk) goOn(keep bool) {
	w.left = depthMin + int(w.next(depthRange))
	w.size = 16 << w.next(7)
	b := entries[w.next(uint64(len(entries)))](w)
	if keep {
		kept = append(kept, b)
	}
}

func countRecords() int {
	n, _ := runtime.MemProfile(nil, true)
	return n
}

// Every object is sampled, so that each new way is a new record.
func fill(w *walk, records, percent int) {
	for n := countRecords(); n < records; n = countRecords() {
		for i := n; i < records; i++ {
			w.goOn(int(w.next(100)) < percent)
		}
	}
}

// Allocates on paths that have a record already, and on some new ones.
func grow(w *walk, duration time.Duration) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Add(1)
	go func() {
		defer all.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for start := time.Now(); time.Since(start) < duration; time.Sleep(time.Millisecond) {
		again := walk{random: 1}
		for i := 0; i < 50; i++ {
			again.goOn(false)
			if i%10 == 0 {
				w.goOn(false)
			}
		}
	}
	close(stop)
	all.Wait()
}

// The runtime allocates in newBuffer too, when it has to help the collector.
func allocated() (objects int64) {
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	records := make([]runtime.MemProfileRecord, countRecords()+1000)
	n, _ := runtime.MemProfile(records, true)
	inBuffer := map[uintptr]bool{}
	for _, r := range records[:n] {
		for _, pc := range r.Stack() {
			is, known := inBuffer[pc]
			if !known {
				is = runtime.FuncForPC(pc-1).Name() == "main.newBuffer"
				inBuffer[pc] = is
			}
			if is {
				objects += r.AllocObjects
				break
			}
		}
	}
	return objects
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var sink [2][]byte

func allocate(duration time.Duration) float64 {
	var all sync.WaitGroup
	var n [2]int
	begin := cpuTime()
	for g := range n {
		all.Add(1)
		go func(g int) {
			defer all.Done()
			for start := time.Now(); time.Since(start) < duration; n[g] += 1000 {
				for i := 0; i < 1000; i++ {
					sink[g] = make([]byte, 64)
				}
			}
		}(g)
	}
	all.Wait()
	return float64(cpuTime()-begin) / float64(n[0]+n[1])
}

func main() {
	runtime.MemProfileRate = 1
	records, _ := strconv.Atoi(os.Args[1])
	percent, _ := strconv.Atoi(os.Args[2])
	w := &walk{random: 1}
	fill(w, records, percent)
	runtime.MemProfileRate, _ = strconv.Atoi(os.Args[3])
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, nil)
	fmt.Printf("ready %s %d\n", l.Addr(), countRecords())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word := strings.Fields(in.Text())
		seconds, _ := strconv.ParseFloat(word[1], 64)
		duration := time.Duration(seconds * float64(time.Second))
		switch word[0] {
		case "grow":
			grow(w, duration)
			fmt.Println("grown", allocated())
		case "allocate":
			fmt.Printf("allocated %.3f\n", allocate(duration))
		}
	}
}
