//go:build cgo

package main

/*
#include <stdlib.h>

static __attribute__((noinline)) int twice(int x) { return x * 2 + (getenv("x") != 0); }
int c_function(int x) { return twice(x) + 1; }
*/
import "C"

func fromC(x int) int { return int(C.c_function(C.int(x))) }
