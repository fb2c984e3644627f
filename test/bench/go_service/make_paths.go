//go:build ignore

// Writes a file of the program beside it: "layers" of functions, each of which calls some of the next
// layer or allocates, so that thousands of functions make any number of different stacks.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
)

const (
	layers  = 28
	width   = 80
	callees = 3
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	random := rand.New(rand.NewSource(1))
	fmt.Fprint(out, "package main\n\n")
	for l := 0; l < layers; l++ {
		fmt.Fprintf(out, "type stage%d struct{ visits int }\n\n", l)
		for f := 0; f < width; f++ {
			fmt.Fprintf(out, "func (s *stage%d) handleRequest%d(w *walk) []byte {\n\ts.visits++\n", l, f)
			fmt.Fprint(out, "\tif w.arrived() {\n\t\treturn newBuffer(w.size)\n\t}\n")
			if l+1 < layers {
				fmt.Fprint(out, "\tswitch w.turn() {\n")
				for c := 0; c < callees; c++ {
					fmt.Fprintf(out, "\tcase %d:\n\t\treturn (&stage%d{}).handleRequest%d(w)\n", c, l+1, random.Intn(width))
				}
				fmt.Fprint(out, "\t}\n")
			}
			fmt.Fprint(out, "\treturn nil\n}\n\n")
		}
	}
	fmt.Fprintf(out, "var entries = [%d]func(*walk) []byte{\n", width)
	for f := 0; f < width; f++ {
		fmt.Fprintf(out, "\t(&stage0{}).handleRequest%d,\n", f)
	}
	fmt.Fprint(out, "}\n")
}
