// A little of everything that names functions in a special way.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type number interface{ ~int | ~float64 }

type stack[T number] struct{ items []T }

//go:noinline
func (s *stack[T]) push(v T) { s.items = append(s.items, v) }

//go:noinline
func sum[T number](values []T) (total T) {
	for _, v := range values {
		total += v
	}
	return total
}

type shape interface{ area() float64 }
type square struct{ side float64 }

func (s square) area() float64 { return s.side * s.side }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "lines" {
		printLines()
		return
	}
	var a stack[int]
	var b stack[float64]
	done := make(chan shape)
	for i := 0; i < 3; i++ {
		a.push(i)
		b.push(float64(i))
		go func(i int) {
			defer func() { done <- square{float64(i)} }()
			_ = strings.Repeat("x", i)
		}(i)
	}
	for i := 0; i < 3; i++ {
		fmt.Println((<-done).area())
	}
	sort.Slice(a.items, func(i, j int) bool { return a.items[i] > a.items[j] })
	fmt.Println(sum(a.items), sum(b.items), fromC(2))
}
