package main

import (
	"runtime"
	"time"
)

//go:noinline
func descend(n int, c chan int) int {
	var pad [64]byte
	pad[n%64] = 1
	if n == 0 {
		<-c
		return int(pad[0])
	}
	return descend(n-1, c) + int(pad[n%64])
}

func worker(depth int, c chan int) {
	for ; ; depth = (depth*5 + 1) % 61 {
		descend(depth, c)
	}
}

func feed(c chan int) {
	for {
		select {
		case c <- 1:
		default:
			runtime.Gosched()
		}
	}
}

// 1,000 goroutines that never stand still, and a garbage collector that moves their stacks.
func startBusy() {
	c := make(chan int)
	for i := 0; i < 1000; i++ {
		go worker(i, c)
	}
	go feed(c)
	go feed(c)
	go func() {
		for {
			runtime.GC()
			time.Sleep(20 * time.Millisecond)
		}
	}()
}
