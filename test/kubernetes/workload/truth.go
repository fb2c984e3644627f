package main

import (
	"encoding/json"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// What was done since the start. Numbers of the functions that load.go names, as profiles count
// them; bytes are those that were asked for, which is what a profile says for sizes that the
// allocator has a class of (512, 1024, 8192 …).
type counters struct {
	CPUNs            atomic.Int64
	AllocatedObjects atomic.Int64
	AllocatedBytes   atomic.Int64
	MutexContentions atomic.Int64
	MutexDelayNs     atomic.Int64
	BlockWaits       atomic.Int64
	BlockDelayNs     atomic.Int64
	Goroutines       int

	lock     sync.Mutex
	requests map[string]*requestCount
}

type requestCount struct {
	Count  int   `json:"count"`
	LastMs int64 `json:"lastMs"`
}

var (
	truth   = counters{requests: map[string]*requestCount{}}
	started = time.Now()
)

func (c *counters) countRequest(path string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.requests[path] == nil {
		c.requests[path] = &requestCount{}
	}
	c.requests[path].Count++
	c.requests[path].LastMs = time.Now().UnixMilli()
}

func processCPU() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func (c *counters) write(w http.ResponseWriter) {
	c.lock.Lock()
	defer c.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"goVersion":        runtime.Version(),
		"startedMs":        started.UnixMilli(),
		"nowMs":            time.Now().UnixMilli(),
		"processCpuNs":     processCPU(),
		"cpuNs":            c.CPUNs.Load(),
		"allocatedObjects": c.AllocatedObjects.Load(),
		"allocatedBytes":   c.AllocatedBytes.Load(),
		"mutexContentions": c.MutexContentions.Load(),
		"mutexDelayNs":     c.MutexDelayNs.Load(),
		"blockWaits":       c.BlockWaits.Load(),
		"blockDelayNs":     c.BlockDelayNs.Load(),
		"goroutines":       c.Goroutines,
		"requests":         c.requests,
	})
}
