//go:build !cgo
// +build !cgo

package main

func extra() {
	for i := 0; i < 100; i++ {
		kept = append(kept, make([]byte, 20000+i))
	}
}
