// A plugin of goroutine_target.go: goroutines that wait in code of a module of its own, that start in it, and that have called the
// program from it.
package main

var never = make(chan int)

func inlinedWait()  { <-never }
func inlinedAgain() { inlinedWait() }

//go:noinline
func waitInPlugin() { inlinedAgain() }

//go:noinline
func recurseInPlugin(n int) int {
	if n == 0 {
		<-never
		return 0
	}
	return recurseInPlugin(n-1) + 1
}

//go:noinline
func callBack(f func()) { f() }

// Kinds is what the program starts; wait is a function of it that never returns.
func Kinds(wait func()) []func() {
	go waitInPlugin()
	go recurseInPlugin(7)
	return []func(){
		waitInPlugin,
		func() { recurseInPlugin(40) },
		func() { callBack(wait) },
		func() { go callBack(func() { waitInPlugin() }) },
	}
}

func main() {}
