// A program whose hot calls a profile changes: mix is too large for the inliner otherwise, and the
// call of area is one of an interface, which in practice always has the same callee. It takes as much
// CPU time as its argument says.
package main

import (
	"os"
	"syscall"
	"time"
)

// own starts runtime/pprof's profile and returns what ends it (own_profile.go).
var own = func() func() { return func() {} }

type shape interface{ area(x uint64) uint64 }

type square struct{ side uint64 }
type circle struct{ radius uint64 }

func (s *square) area(x uint64) uint64 {
	for i := uint64(0); i < 8; i++ {
		x = x*6364136223846793005 + s.side
	}
	return x
}

func (c *circle) area(x uint64) uint64 { return x + c.radius }

func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	switch {
	case x%3 == 0:
		x += x >> 7
	case x%5 == 0:
		x -= x << 3
	case x%7 == 0:
		x ^= x << 11
	case x%11 == 0:
		x += x << 13
	case x%13 == 0:
		x -= x >> 5
	}
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	return x ^ x>>32
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func work(s shape, until time.Duration) uint64 {
	x := uint64(1)
	for cpuTime() < until {
		for i := 0; i < 100000; i++ {
			x = mix(x)
			x = s.area(x)
		}
	}
	return x
}

func main() {
	d, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	var s shape = &square{3}
	if d == 0 {
		s = &circle{4}
	}
	defer own()()
	println(work(s, d))
}
