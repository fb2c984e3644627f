// Starts 200 goroutines that wait for work and 50 that sleep, and is idle: gowaits SECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

const workers, sleepers = 200, 50

var work = make(chan int)

//go:noinline
func waitForWork() {
	<-work
}

//go:noinline
func sleepOn() {
	time.Sleep(time.Hour)
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	for i := 0; i < workers; i++ {
		go waitForWork()
	}
	for i := 0; i < sleepers; i++ {
		go sleepOn()
	}
	time.Sleep(time.Duration(seconds * 1e9))
	fmt.Printf("{\"workers\": %d, \"sleepers\": %d}\n", workers, sleepers)
}
