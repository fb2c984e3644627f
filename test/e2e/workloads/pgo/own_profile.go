//go:build own

package main

import (
	"os"
	"runtime/pprof"
)

func init() {
	own = func() func() {
		f, err := os.Create(os.Args[2])
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			panic(err)
		}
		return pprof.StopCPUProfile
	}
}
