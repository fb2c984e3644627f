//go:build !go1.21
// +build !go1.21

package main

import (
	"runtime"
	"time"
)

// These releases do not tell.
func liveHeap() uint64 { return 0 }

func askForEver() {
	var m runtime.MemStats
	for {
		runtime.ReadMemStats(&m)
		time.Sleep(20 * time.Microsecond)
	}
}
