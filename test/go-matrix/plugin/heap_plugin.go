// A plugin of heap_target.go: a module of its own in the process, with code, lines and inlined functions of its own.
package main

var kept [][]byte

func inlinedInPlugin(n int) []byte { return make([]byte, n) }

//go:noinline
func keptByPlugin(n int) { kept = append(kept, inlinedInPlugin(n)) }

// Allocate is what the program calls.
func Allocate() {
	for i := 0; i < 300; i++ {
		keptByPlugin(30000 + i)
		func() { kept = append(kept, make([]byte, 10000+i)) }()
	}
}

func main() {}
