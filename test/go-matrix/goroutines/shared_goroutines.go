//go:build shared
// +build shared

package main

import "C"
import "os"

// What the library's host calls. Go gives libraries the arguments of the program.
//
//go:noinline
//export run_target
func run_target() {
	os.Args = os.Args[len(os.Args)-2:]
	main()
}
