// A program with a heap of every kind of stack, which then stands still: "ready ADDRESS" on standard
// output means that all garbage collections are over and nothing allocates any more until
// somebody asks net/http/pprof at that address. It ends with its standard input.
package main

import (
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
)

var kept [][]byte
var words []string
var tables []map[int]string
var boxes []interface{}

type node struct {
	left, right *node
	pad         [100]byte
}

var roots []*node

// Of a plugin, when it is built with one.
var beforeWork = func() {}

func inlinedLeaf(n int) []byte   { return make([]byte, n) }
func inlinedMiddle(n int) []byte { return inlinedLeaf(n + 1) }

//go:noinline
func throughInlined(n int) []byte { return inlinedMiddle(n) }

//go:noinline
func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

//go:noinline
func deep(n, size int) []byte {
	if n == 0 {
		return make([]byte, size)
	}
	return deep(n-1, size)
}

type maker struct{ n int }

func (m maker) make(i int) []byte   { return make([]byte, m.n+i) }
func (m *maker) keep(i int)         { kept = append(kept, m.make(i)) }
func closure(n int) func(int) []byte { return func(i int) []byte { return make([]byte, n*i) } }

type shape interface{ blob() []byte }
type round struct{ r int }

func (r round) blob() []byte { return make([]byte, r.r) }

func garbage() {
	for i := 0; i < 3000; i++ {
		b := throughInlined(1000 + i)
		b[0] = 1
	}
}

func work() {
	f := closure(64)
	m := &maker{5000}
	for i := 0; i < 400; i++ {
		kept = append(kept, throughInlined(8000+i), f(i+1), deep(i%200, 3000))
		m.keep(i)
		words = append(words, strings.Repeat("ab", 2000+i)+strconv.Itoa(i))
		t := map[int]string{}
		for k := 0; k < 50; k++ {
			t[k] = "v" + strconv.Itoa(k)
		}
		tables = append(tables, t)
		boxes = append(boxes, shape(round{1000 + i}).blob(), i, [3]int{i})
	}
	roots = append(roots, tree(14))
	sort.Slice(kept, func(a, b int) bool { return len(kept[a]) < len(kept[b]) })
}

func main() {
	if len(os.Args) > 1 { // bytes per sample; 0 means as it is
		n, _ := strconv.Atoi(os.Args[1])
		if n > 0 {
			runtime.MemProfileRate = n
		}
	}
	extra()
	beforeWork()
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			garbage()
			all.Done()
		}()
	}
	all.Wait()
	work()
	garbage()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, nil)
	ready := []byte("ready " + l.Addr().String() + "\n")
	in := make([]byte, 1)
	debug.SetGCPercent(-1)
	for i := 0; i < 4; i++ {
		runtime.GC()
	}
	os.Stdout.Write(ready)
	os.Stdin.Read(in)
	runtime.KeepAlive(roots)
}
