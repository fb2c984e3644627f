// Measures what waiting costs: answers each line of its input, "mutex", "channel" or "service", with
// the CPU time in nanoseconds that one operation took. Exits at the end of its input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

func cpuNs() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

var m sync.Mutex
var counter int

//go:noinline
func spin(n int) {
	for i := 0; i < n; i++ {
		counter += i
	}
}

// Four goroutines that do little but wait for one lock.
func mutex(n int) {
	var all sync.WaitGroup
	for g := 0; g < 4; g++ {
		all.Add(1)
		go func() {
			for i := 0; i < n/4; i++ {
				m.Lock()
				spin(100)
				m.Unlock()
			}
			all.Done()
		}()
	}
	all.Wait()
}

// Two goroutines that block at each message: nothing blocks more often.
func channel(n int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for i := range there {
			back <- i
		}
		close(back)
	}()
	for i := 0; i < n; i++ {
		there <- i
		<-back
	}
	close(there)
	<-back
}

// Requests of 20 microseconds' work each, handed to workers, which share a lock.
func service(n int) {
	requests := make(chan int)
	var all sync.WaitGroup
	for g := 0; g < 8; g++ {
		all.Add(1)
		go func() {
			local := 0
			for r := range requests {
				for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
					local += r
				}
				m.Lock()
				counter += local
				m.Unlock()
			}
			all.Done()
		}()
	}
	for i := 0; i < n; i++ {
		requests <- i
	}
	close(requests)
	all.Wait()
}

func main() {
	works := map[string]struct {
		do func(int)
		n  int
	}{"mutex": {mutex, 1600000}, "channel": {channel, 200000}, "service": {service, 5000}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		w := works[in.Text()]
		begin := cpuNs()
		w.do(w.n)
		fmt.Printf("%d\n", (cpuNs()-begin)/int64(w.n))
	}
}
