// A Go program that burns CPU in leaf, allocates in keep and fights for a lock until its input ends,
// and pushes what pyroscope-go takes of it.
package main

import (
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/pyroscope-go"
)

var kept [][]byte

//go:noinline
func leaf(until time.Time) {
	for time.Now().Before(until) {
	}
}

//go:noinline
func keep() {
	kept = nil
	for i := 0; i < 200; i++ {
		kept = append(kept, make([]byte, 10000))
	}
}

func hold(mu *sync.Mutex) {
	for {
		mu.Lock()
		time.Sleep(time.Millisecond)
		mu.Unlock()
	}
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName:   "push.go",
		ServerAddress:     os.Getenv("PUSH_URL"),
		BasicAuthUser:     "any",
		BasicAuthPassword: os.Getenv("PUSH_KEY"),
		TenantID:          "tenant",
		Tags:              map[string]string{"region": "eu"},
		UploadRate:        time.Second,
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileGoroutines,
			pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileInuseSpace,
			pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	if err != nil {
		panic(err)
	}
	mu := &sync.Mutex{}
	go hold(mu)
	go hold(mu)
	var ended atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	for !ended.Load() {
		leaf(time.Now().Add(50 * time.Millisecond))
		keep()
		time.Sleep(200 * time.Millisecond)
	}
	if err := profiler.Stop(); err != nil {
		panic(err)
	}
}
