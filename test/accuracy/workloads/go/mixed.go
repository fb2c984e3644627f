//go:build cgo
// +build cgo

package main

// static volatile unsigned c_sink;
// __attribute__((noinline)) static void acc_c_spin(unsigned n)
// {
// 	for (unsigned i = 0; i < n; i++)
// 		c_sink = c_sink * 1664525u + 1013904223u;
// }
// __attribute__((noinline)) static void acc_c_recurse(unsigned n)
// {
// 	if (n)
// 		acc_c_recurse(n - 1);
// 	else
// 		acc_c_spin(200000);
// 	__asm__ volatile("" ::: "memory");
// }
// extern void accCalledBack(int n);
// __attribute__((noinline)) static void acc_c_back(int n)
// {
// 	accCalledBack(n);
// 	__asm__ volatile("" ::: "memory");
// }
import "C"

//export accCalledBack
func accCalledBack(n C.int) { accSpin(int(n)) }

//go:noinline
func accMore() {
	C.acc_c_recurse(5)
	C.acc_c_back(200000)
}
