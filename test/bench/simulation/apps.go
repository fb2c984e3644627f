package main

import (
	"fmt"
	"math/rand"
)

const (
	numApps     = 40
	numVariants = 12 // successive states of a process; the last one stays
)

type kind int

const (
	cpu kind = iota
	heap
	goroutine
	mutex
	block
	numKinds
)

// How the profiles of one kind look: what Go's runtime writes.
type shape struct {
	path       string
	numStacks  int
	types      [][2]string
	uploaded   []string // by type; "" is not uploaded
	cumulative []bool
}

var shapes = [numKinds]shape{
	cpu: {"profile", 100, [][2]string{{"samples", "count"}, {"cpu", "nanoseconds"}},
		[]string{"", "go:profile_cpu:nanoseconds"}, []bool{false, false}},
	heap: {"heap", 300, [][2]string{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}},
		[]string{"go:heap_alloc_objects:count", "go:heap_alloc_space:bytes", "go:heap_inuse_objects:count", "go:heap_inuse_space:bytes"},
		[]bool{true, true, false, false}},
	goroutine: {"goroutine", 50, [][2]string{{"goroutine", "count"}}, []string{"go:goroutine_goroutine:count"}, []bool{false}},
	mutex: {"mutex", 30, [][2]string{{"contentions", "count"}, {"delay", "nanoseconds"}},
		[]string{"go:mutex_contentions:count", "go:mutex_delay:nanoseconds"}, []bool{true, true}},
	block: {"block", 30, [][2]string{{"contentions", "count"}, {"delay", "nanoseconds"}},
		[]string{"go:block_contentions:count", "go:block_delay:nanoseconds"}, []bool{true, true}},
}

// One profile as a pod of the application serves it.
type variant struct {
	body   []byte
	totals []int64 // by type
}

// Pods of one application serve the same bytes; the agent cannot tell.
type app struct {
	namespace, name string
	variants        [numKinds][numVariants]variant
}

func (a *app) service() string { return "/k8s/" + a.namespace + "/" + a.name }

var (
	areas  = []string{"checkout", "catalog", "payment", "search", "session", "pricing", "shipping", "ledger", "mailer", "gateway"}
	nouns  = []string{"Order", "Cart", "Item", "Price", "Index", "Query", "Token", "Batch", "Cache", "Pool", "Worker", "Route", "Event", "Stream", "Buffer"}
	verbs  = []string{"Handle", "Load", "Store", "Encode", "Decode", "Merge", "Find", "Update", "Publish", "Consume", "Validate", "Flush", "Render", "Reserve"}
	common = []string{"encoding/json.(*decodeState).object", "encoding/json.Unmarshal", "net/http.(*persistConn).readLoop", "database/sql.(*DB).queryDC",
		"runtime.mallocgc", "runtime.growslice", "strings.(*Builder).grow", "bufio.NewWriterSize", "compress/gzip.(*Writer).Write",
		"google.golang.org/grpc.(*Server).handleStream", "google.golang.org/protobuf/proto.Unmarshal", "sync.(*Mutex).Unlock", "runtime.gopark", "crypto/tls.(*Conn).Read"}
)

// Functions of an application, the first few of them where stacks begin.
func makeFunctions(r *rand.Rand, name string) []function {
	fs := []function{
		{"runtime.main", "/usr/local/go/src/runtime/proc.go"},
		{"net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go"},
		{"main.main", "/src/" + name + "/main.go"},
	}
	for _, f := range common {
		fs = append(fs, function{f, "/usr/local/go/src/" + f + ".go"})
	}
	for len(fs) < 400 {
		area, noun, verb := areas[r.Intn(len(areas))], nouns[r.Intn(len(nouns))], verbs[r.Intn(len(verbs))]
		fs = append(fs, function{
			fmt.Sprintf("github.com/acme/%s/internal/%s.(*%s).%s%s", name, area, noun, verb, nouns[r.Intn(len(nouns))]),
			fmt.Sprintf("/src/%s/internal/%s/%s.go", name, area, noun),
		})
	}
	return fs
}

// Stacks of a call tree: each shares the part next to the root with the previous one. One in five
// occurs twice, as Go's heap profile has one sample for each size of object.
func makeStacks(r *rand.Rand, numFunctions, n int) [][]frame {
	var stacks [][]frame
	var last []frame // root first
	for len(stacks) < n {
		depth := 6 + r.Intn(20)
		shared := 1
		if len(last) > 2 {
			shared = 1 + r.Intn(len(last)-1)
		}
		stack := []frame{{function: r.Intn(3), line: 40}}
		if len(last) > 0 {
			stack = append([]frame{}, last[:shared]...)
		}
		for len(stack) < depth {
			stack = append(stack, frame{function: 3 + r.Intn(numFunctions-3), line: 20 + r.Intn(8)*17})
		}
		last = stack
		stacks = append(stacks, stack)
		if len(stacks)%5 == 0 && len(stacks) < n {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// The values of stack i at state v of a process: what is cumulative grows, for most stacks.
func values(k kind, i, v int) []int64 {
	n := int64(i%17+1) * int64(v+1+i%3)
	if i%4 == 0 {
		n = int64(i%17 + 1) // has stopped growing
	}
	switch k {
	case cpu:
		n = int64((i*7+v*3)%23 + 1)
		return []int64{n, n * 10_000_000}
	case heap:
		inUse := int64((i*5+v)%29 + 1)
		return []int64{n * 100, n * 6400, inUse, inUse * 64}
	case goroutine:
		return []int64{int64((i+v)%9 + 1)}
	default:
		return []int64{n, n * 1_234_567}
	}
}

func makeVariants(a *app, k kind, functions []function, stacks [][]frame) {
	for v := range a.variants[k] {
		p := profile{types: shapes[k].types, functions: functions, stacks: stacks, labelBytes: k == heap}
		totals := make([]int64, len(p.types))
		for i := range stacks {
			vs := values(k, i, v)
			p.values = append(p.values, vs)
			for t := range vs {
				totals[t] += vs[t]
			}
		}
		if k == cpu {
			p.period, p.durationNanos = 10_000_000, 10_000_000_000
		}
		a.variants[k][v] = variant{p.encode(), totals}
	}
}

func makeApps() []*app {
	apps := make([]*app, numApps)
	for i := range apps {
		r := rand.New(rand.NewSource(int64(i)))
		a := &app{namespace: fmt.Sprintf("team-%d", i%8), name: fmt.Sprintf("%s-%d", areas[i%len(areas)], i)}
		functions := makeFunctions(r, a.name)
		for k := kind(0); k < numKinds; k++ {
			makeVariants(a, k, functions, makeStacks(r, len(functions), shapes[k].numStacks))
		}
		apps[i] = a
	}
	return apps
}
