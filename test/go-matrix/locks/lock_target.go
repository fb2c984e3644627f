// A program whose goroutines wait for each other in every way: main MUTEX_RATE BLOCK_RATE, which it sets
// unless they are 0. "ready ADDRESS" on standard output says where net/http/pprof answers; at each line of its
// input it does its work and says "worked". Then it stands still, with the block profiler off if it has set it
// by itself. It ends with its input.
package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const short = 300 * time.Microsecond

type account struct {
	sync.Mutex
	n int
}

// The lock, the unlock and who calls them are inlined into each other.
func (a *account) add()       { a.Lock(); hold(); a.n++; a.Unlock() }
func addInlined(a *account)   { a.add() }
func addTwice(a *account)     { addInlined(a) }
func lockAny(l sync.Locker)   { l.Lock() }
func unlockAny(l sync.Locker) { l.Unlock() }

//go:noinline
func hold() { time.Sleep(short) }

//go:noinline
func holdDeferred(a *account) {
	a.Lock()
	defer a.Unlock()
	hold()
}

//go:noinline
func holdClosure(a *account) {
	func() {
		a.Lock()
		defer func() { a.Unlock() }()
		hold()
	}()
}

//go:noinline
func holdInterface(a *account) {
	lockAny(a)
	hold()
	unlockAny(a)
}

//go:noinline
func holdMethodValue(a *account) {
	unlock := a.Unlock
	a.Lock()
	hold()
	unlock()
}

//go:noinline
func holdDeep(a *account, n int) {
	if n == 0 {
		addTwice(a)
		return
	}
	holdDeep(a, n-1)
}

// Each call of it is three, two of them inlined: holdNested(a, 60) has more than a profile shows.
//
//go:noinline
func holdNested(a *account, n int)      { holdNestedInner(a, n) }
func holdNestedInner(a *account, n int) { holdNestedInnermost(a, n) }
func holdNestedInnermost(a *account, n int) {
	if n == 0 {
		addTwice(a)
		return
	}
	holdNested(a, n-1)
}

// Goroutines that do the same, one after the other, by means of a lock.
func together(n, times int, f func()) {
	var all sync.WaitGroup
	for i := 0; i < n; i++ {
		all.Add(1)
		go func() {
			for k := 0; k < times; k++ {
				f()
			}
			all.Done()
		}()
	}
	all.Wait()
}

//go:noinline
func readers(times int) {
	var l sync.RWMutex
	together(3, times, func() {
		l.RLock()
		hold()
		l.RUnlock()
		l.Lock()
		hold()
		l.Unlock()
	})
}

//go:noinline
func channels(times int) {
	pipe, back := make(chan int), make(chan int)
	go func() {
		for range pipe {
			hold()
			back <- 1
		}
		close(back)
	}()
	for i := 0; i < times; i++ {
		pipe <- i
		<-back
	}
	close(pipe)
	<-back
}

//go:noinline
func selects(times int) {
	a, b := make(chan int), make(chan int)
	go func() {
		for i := 0; i < times; i++ {
			hold()
			if i%2 == 0 {
				a <- i
			} else {
				b <- i
			}
		}
		close(a)
	}()
	for ok := true; ok; {
		select {
		case _, ok = <-a:
		case <-b:
		}
	}
}

//go:noinline
func conditions(times int) {
	var l sync.Mutex
	c := sync.NewCond(&l)
	ready := 0
	go func() {
		for i := 0; i < times; i++ {
			hold()
			l.Lock()
			ready++
			l.Unlock()
			c.Signal()
		}
	}()
	l.Lock()
	for ready < times {
		c.Wait()
	}
	l.Unlock()
}

func work(times int) {
	locked := []func(*account){
		addTwice, holdDeferred, holdClosure, holdInterface, holdMethodValue,
		func(a *account) { holdDeep(a, 20) },
		func(a *account) { holdDeep(a, 100) },
		func(a *account) { holdDeep(a, 140) },
		func(a *account) { holdNested(a, 20) },
		func(a *account) { holdNested(a, 60) },
	}
	var all sync.WaitGroup
	for i := 0; i < 4*len(locked); i++ {
		f := locked[i%len(locked)]
		all.Add(1)
		go func() {
			defer all.Done()
			var a account
			together(2, times, func() { f(&a) })
		}()
	}
	all.Add(4)
	go func() { readers(times); all.Done() }()
	go func() { channels(times); all.Done() }()
	go func() { selects(times); all.Done() }()
	go func() { conditions(times); all.Done() }()
	all.Wait()
}

func main() {
	mutexRate, _ := strconv.Atoi(os.Args[1])
	blockRate, _ := strconv.Atoi(os.Args[2])
	times := 300 // a rate of 113 leaves some
	if mutexRate > 0 {
		runtime.SetMutexProfileFraction(mutexRate)
		times = 50
	}
	if blockRate > 0 {
		runtime.SetBlockProfileRate(blockRate)
	}
	os.Stdout.WriteString("ready " + serve() + "\n")
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		work(times)
		if blockRate > 0 {
			runtime.SetBlockProfileRate(0)
		}
		time.Sleep(50 * time.Millisecond)
		os.Stdout.WriteString("worked\n")
	}
}
