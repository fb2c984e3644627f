// Starts 200 goroutines that wait for work and 50 that sleep, says so, and is idle.
package main

import (
	"fmt"
	"sync/atomic"
	"time"
)

const workers, sleepers = 200, 50

var work = make(chan int)
var begun int32

//go:noinline
func waitForWork() {
	atomic.AddInt32(&begun, 1)
	<-work
}

//go:noinline
func sleepOn() {
	atomic.AddInt32(&begun, 1)
	time.Sleep(time.Hour)
}

func main() {
	for i := 0; i < workers; i++ {
		go waitForWork()
	}
	for i := 0; i < sleepers; i++ {
		go sleepOn()
	}
	for atomic.LoadInt32(&begun) < workers+sleepers {
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("{\"workers\": %d, \"sleepers\": %d}\n", workers, sleepers)
	time.Sleep(10 * time.Minute)
}
