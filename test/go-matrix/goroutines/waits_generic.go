//go:build go1.18
// +build go1.18

package main

type box[T any] struct{ c chan T }

//go:noinline
func (b *box[T]) take() T { return <-b.c }

//go:noinline
func through[T any](b *box[T]) T { return b.take() }

func generics() []func() {
	n, s := &box[int]{make(chan int)}, &box[string]{make(chan string)}
	return []func(){func() { through(n) }, func() { through(s) }, func() { n.take() }}
}
