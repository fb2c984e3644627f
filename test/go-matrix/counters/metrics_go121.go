//go:build go1.21
// +build go1.21

package main

import (
	"runtime/metrics"
	"time"
)

// What the last collection marked.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func askForEver() {
	all := metrics.All()
	s := make([]metrics.Sample, len(all))
	for i := range all {
		s[i].Name = all[i].Name
	}
	for {
		metrics.Read(s)
		time.Sleep(20 * time.Microsecond)
	}
}
