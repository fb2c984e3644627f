//go:build cgo
// +build cgo

package main

/*
static int plus(int a, int b) { return a + b; }
*/
import "C"

func extra() {
	for i := 0; i < 100; i++ {
		kept = append(kept, make([]byte, int(C.plus(C.int(i), 20000))))
	}
}
