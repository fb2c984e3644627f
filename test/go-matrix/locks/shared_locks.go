//go:build shared
// +build shared

package main

import "C"
import (
	"os"
	"strings"
)

// What the library's host calls. Go gives libraries the arguments of the program, of which the last is "MUTEX_RATE,BLOCK_RATE".
//
//go:noinline
//export run_target
func run_target() {
	os.Args = append(os.Args[:1], strings.Split(os.Args[len(os.Args)-1], ",")...)
	main()
}
