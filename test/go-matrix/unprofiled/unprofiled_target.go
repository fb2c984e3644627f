// A program without any use of the memory profiler, so the linker switches it off. At SIGUSR1 it makes
// 20000 objects of 8 KiB and 4000 of 64 KiB, then the file that its argument names. It ends with
// its standard input.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

var sink []byte

//go:noinline
func makeSmall() { sink = make([]byte, 8192) }

//go:noinline
func makeLarge() { sink = make([]byte, 65536) }

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	go func() {
		<-told
		for i := 0; i < 20000; i++ {
			makeSmall()
			if i%5 == 0 {
				makeLarge()
			}
		}
		f, err := os.Create(os.Args[1])
		if err != nil {
			panic(err)
		}
		f.Close()
	}()
	os.Stdout.WriteString("ready\n")
	os.Stdin.Read(make([]byte, 1))
}
