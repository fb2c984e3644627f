// Starts as many goroutines as its first argument says (100,000), which wait like those of a server:
// most for a request, deep in a few dozen handlers, some in sleep and some for a lock. With a second
// argument, so many of them wake up and wait again each second. Prints "ready" when all of them wait.
// Exits at the end of its input.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

var requests = make(chan int)
var lock sync.Mutex

//go:noinline
func wait() int { return <-requests }

//go:noinline
func read(depth int) int {
	if depth == 0 {
		return wait()
	}
	return read(depth-1) + 1
}

//go:noinline
func handle(i int) int {
	var header [256]byte
	header[i%256] = byte(i)
	return read(i%24) + int(header[i%7])
}

//go:noinline
func serve(i int) {
	for {
		handle(i)
	}
}

//go:noinline
func tick(i int) {
	for {
		time.Sleep(time.Hour)
	}
}

func argument(i, otherwise int) int {
	if len(os.Args) > i {
		n, err := strconv.Atoi(os.Args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	return otherwise
}

func main() {
	n, perSecond := argument(1, 100000), argument(2, 0)
	lock.Lock()
	for i := 0; i < n; i++ {
		switch {
		case i%20 == 0:
			go tick(i)
		case i%20 == 1:
			go lock.Lock()
		default:
			go serve(i)
		}
	}
	time.Sleep(time.Second)
	if perSecond > 0 {
		go func() {
			for range time.Tick(time.Millisecond * 10) {
				for i := 0; i < perSecond/100; i++ {
					requests <- i
				}
			}
		}()
	}
	fmt.Println("ready")
	in := make([]byte, 1)
	os.Stdin.Read(in)
}
