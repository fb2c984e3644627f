// A program with goroutines that wait in every way there is, and then stands still after it has said "ready NUMBER". Only
// the main one moves: for each byte of standard input it writes the program's own goroutine profile to the file
// that the argument names, and says "told". It ends with its standard input. With a second argument no goroutine
// stands still, but there are always as many.
package main

import (
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var never = make(chan int)
var fromPlugin = func(func()) []func() { return nil }
var nobody chan int

//go:noinline
func receive() { <-never }

//go:noinline
func send() { never2 <- 1 }

var never2 = make(chan int)

//go:noinline
func choose(other chan int) {
	select {
	case <-other:
	case never2 <- 1:
	case <-time.After(10 * time.Hour):
	}
}

func inlinedLeaf()   { <-never }
func inlinedMiddle() { inlinedLeaf() }

//go:noinline
func throughInlined() { inlinedMiddle() }

//go:noinline
func recurse(n int) int {
	if n == 0 {
		<-never
		return 0
	}
	return recurse(n-1) + 1
}

// Each call of it is three, two of them inlined: nested(60) has more than a profile shows.
//
//go:noinline
func nested(n int)      { nestedInner(n) }
func nestedInner(n int) { nestedInnermost(n) }
func nestedInnermost(n int) {
	if n == 0 {
		<-never
	}
	nested(n - 1)
}

//go:noinline
func largeFrame(n int) byte {
	var pad [40000]byte
	pad[n] = byte(n)
	<-never
	return pad[n/2]
}

type waiter struct{ c chan int }

func (w waiter) wait()     { <-w.c }
func (w *waiter) waitPtr() { <-w.c }

type outer struct{ *waiter }
type waitable interface{ waitPtr() }

//go:noinline
func throughInterface(w waitable) { w.waitPtr() }

//go:noinline
func args(a, b int, s string) {
	if a+b > len(s) {
		<-never
	}
}

func deferred() {
	defer args(1, 2, "")
}

func recovered() {
	defer func() {
		recover()
		<-never
	}()
	var m *waiter
	m.c = nil
}

func panicked() {
	defer func() { <-never }()
	panic("kept")
}

func locked() {
	runtime.LockOSThread()
	<-never
}

var mu sync.Mutex
var rw sync.RWMutex
var cond = sync.NewCond(&sync.Mutex{})
var group sync.WaitGroup
var once sync.Once

func waitForCond() {
	cond.L.Lock()
	cond.Wait()
}

func lockAll() {
	mu.Lock()
	rw.Lock()
	group.Add(1)
}

func readPipe() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	b := make([]byte, 1)
	r.Read(b)
	runtime.KeepAlive(w)
}

// A file descriptor that the runtime does not know: the thread is in the kernel.
func readInKernel() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	b := make([]byte, 1)
	syscall.Read(p[0], b)
}

func accept() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l.Accept()
}

type finalized struct{ b [64]byte }

//go:noinline
func makeFinalized() {
	f := &finalized{}
	runtime.SetFinalizer(f, func(*finalized) { <-never })
}

func startMany() {
	for i := 0; i < 300; i++ {
		go receive()
		if i%3 == 0 {
			go recurse(i % 2 * 5)
		}
		go func(n int) {
			time.Sleep(10*time.Hour + time.Duration(n))
		}(i)
	}
}

func startAll() {
	w := &waiter{never}
	kinds := []func(){
		send, throughInlined, deferred, recovered, locked, waitForCond, readPipe, readInKernel, accept,
		w.wait, w.waitPtr, outer{w}.waitPtr, group.Wait, mu.Lock, rw.RLock, rw.Lock,
		func() { <-nobody },
		func() { nobody <- 1 },
		func() { select {} },
		func() { choose(never) },
		func() { recurse(20) },
		func() { recurse(1200) },
		func() { nested(20) },
		func() { nested(60) },
		func() { largeFrame(100) },
		func() { throughInterface(outer{w}) },
		func() { once.Do(receive) },
		func() { func() { func() { <-never }() }() },
	}
	kinds = append(kinds, generics()...)
	kinds = append(kinds, extra()...)
	kinds = append(kinds, fromPlugin(receive)...)
	for _, k := range kinds {
		go k()
	}
	go args(1, 2, "")
	go w.wait()
	go throughInterface(outer{w})
	go panickedAndKept()
	startMany()
}

// The panic is still on its way down when the deferred function waits.
func panickedAndKept() {
	defer func() { recover() }()
	panicked()
}

func tell(name string) {
	f, err := os.Create(name)
	if err == nil {
		err = pprof.Lookup("goroutine").WriteTo(f, 0)
	}
	if err != nil {
		panic(err)
	}
	f.Close()
	os.Stdout.Write([]byte("told\n"))
}

func main() {
	if len(os.Args) > 2 {
		startBusy()
	} else {
		lockAll()
		startAll()
		makeFinalized()
	}
	runtime.GC()
	runtime.GC()
	time.Sleep(400 * time.Millisecond)
	os.Stdout.Write([]byte("ready " + strconv.Itoa(runtime.NumGoroutine()) + "\n"))
	in := make([]byte, 1)
	for {
		if n, _ := os.Stdin.Read(in); n == 0 {
			return
		}
		tell(os.Args[1])
	}
}
