//go:build cgo
// +build cgo

package main

/*
#include <unistd.h>
extern void wait_in_go(void);
static void wait_in_c(void) { pause(); }
static void call_back(void) { wait_in_go(); }
*/
import "C"

//export wait_in_go
func wait_in_go() { <-never }

func extra() []func() {
	return []func(){func() { C.wait_in_c() }, func() { C.call_back() }}
}
