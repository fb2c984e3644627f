// A goroutine that waits, deep in calls. For the line "silence" the memory of its stack becomes that of a file whose file system
// does not answer, so that who reads it waits; for "answer" it has its content again. For "map" the program
// works, and a thread maps memory: if somebody waits for the file with the memory locked, so does the thread, and whoever looks
// at the mappings: gosilent
//
// The file system is FUSE, mounted nowhere, and served by a process of its own, which needs no lock that waits for its answers.
// What is asked of it meanwhile is not taken, as by a server that hangs.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	page  = 4096
	depth = 500
	node  = 2 // of the file

	deviceOfServer = 3 // its descriptor there

	sysFsopen   = 430
	sysFsconfig = 431
	sysFsmount  = 432

	fuseLookup      = 1
	fuseForget      = 2
	fuseGetattr     = 3
	fuseOpen        = 14
	fuseRead        = 15
	fuseRelease     = 18
	fuseInit        = 26
	fuseInterrupt   = 36
	fuseBatchForget = 42
)

var wait = make(chan int)
var deep = make(chan bool)
var first, last uintptr // addresses of the outermost and innermost call

//go:noinline
func goDeeper(n int, stay bool) byte {
	var frame [64]byte
	at := uintptr(unsafe.Pointer(&frame[0]))
	if n == depth {
		first = at
	}
	if n > 0 {
		return goDeeper(n-1, stay) + frame[n%64]
	}
	last = at
	if stay {
		deep <- true
		<-wait
	}
	return frame[0]
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gosilent:", err)
		os.Exit(1)
	}
}

func call(nr uintptr, args ...uintptr) int {
	var a [6]uintptr
	copy(a[:], args)
	n, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		check(errno)
	}
	return int(n)
}

func text(s string) uintptr {
	p, err := syscall.BytePtrFromString(s)
	check(err)
	return uintptr(unsafe.Pointer(p)) // nothing is collected here
}

func configure(fs int, key, value string) {
	call(sysFsconfig, uintptr(fs), 1, text(key), text(value), 0)
}

func mountNowhere(device int) int {
	fs := call(sysFsopen, text("fuse"), 1)
	configure(fs, "source", "silent")
	configure(fs, "fd", fmt.Sprint(device))
	configure(fs, "rootmode", "40000")
	configure(fs, "user_id", "0")
	configure(fs, "group_id", "0")
	call(sysFsconfig, uintptr(fs), 6, 0, 0, 0)
	return call(sysFsmount, uintptr(fs), 1, 0)
}

type server struct {
	device  int
	content []byte
	lock    sync.Mutex // held while a request is taken
	silent  bool
}

func attributes(ino uint64, size int) []byte {
	a := make([]byte, 88)
	binary.NativeEndian.PutUint64(a, ino)
	binary.NativeEndian.PutUint64(a[8:], uint64(size))
	mode := uint32(syscall.S_IFDIR | 0o555)
	if ino == node {
		mode = syscall.S_IFREG | 0o444
	}
	binary.NativeEndian.PutUint32(a[60:], mode)
	binary.NativeEndian.PutUint32(a[64:], 1)
	binary.NativeEndian.PutUint32(a[80:], page)
	return a
}

func (s *server) answer(request []byte) ([]byte, int32) {
	order := binary.NativeEndian
	body := request[40:]
	ino := order.Uint64(request[16:])
	switch order.Uint32(request[4:]) {
	case fuseInit:
		out := make([]byte, 64)
		order.PutUint32(out, 7)
		order.PutUint32(out[4:], 31)
		order.PutUint32(out[8:], page)
		order.PutUint32(out[20:], page)
		return out, 0
	case fuseLookup:
		out := make([]byte, 40)
		order.PutUint64(out, node)
		order.PutUint64(out[16:], 3600)
		order.PutUint64(out[24:], 3600)
		return append(out, attributes(node, len(s.content))...), 0
	case fuseGetattr:
		out := make([]byte, 16)
		order.PutUint64(out, 3600)
		return append(out, attributes(ino, len(s.content))...), 0
	case fuseOpen:
		return make([]byte, 16), 0
	case fuseRead:
		from := min(int(order.Uint64(body[8:])), len(s.content))
		to := min(from+int(order.Uint32(body[16:])), len(s.content))
		return s.content[from:to], 0
	case fuseRelease:
		return nil, 0
	case fuseForget, fuseBatchForget, fuseInterrupt:
		return nil, 1 // nobody waits for an answer
	}
	return nil, -int32(syscall.ENOSYS)
}

func (s *server) take(request []byte) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.silent {
		return
	}
	n, err := syscall.Read(s.device, request)
	if err == syscall.EAGAIN || err == syscall.EINTR || err == syscall.ENOENT {
		return
	}
	if err == syscall.ENODEV { // unmounted: the other process has ended
		os.Exit(0)
	}
	check(err)
	body, errno := s.answer(request[:n])
	if errno > 0 {
		return
	}
	out := make([]byte, 16, 16+len(body))
	binary.NativeEndian.PutUint32(out, uint32(16+len(body)))
	binary.NativeEndian.PutUint32(out[4:], uint32(errno))
	copy(out[8:16], request[8:16])
	_, _ = syscall.Write(s.device, append(out, body...)) // who asked may have been killed
}

func (s *server) serve() {
	for request := make([]byte, 1<<16); ; time.Sleep(5 * time.Millisecond) {
		s.take(request)
	}
}

func (s *server) set(silent bool) {
	s.lock.Lock()
	s.silent = silent
	s.lock.Unlock()
}

// The other process: its input is the content of the file, and then the lines; it ends with its input.
func serveFile() {
	content, err := io.ReadAll(io.LimitReader(os.Stdin, fileBytes()))
	check(err)
	s := &server{device: deviceOfServer, content: content}
	go s.serve()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println() {
		s.set(in.Text() == "silence")
	}
}

func fileBytes() int64 {
	n, err := strconv.ParseInt(os.Args[1], 10, 32)
	check(err)
	return n
}

// Starts the server; what is returned makes it do what the line says.
func startServer(device int, content []byte) func(line string) {
	file := os.NewFile(uintptr(device), "fuse")
	command := exec.Command("/proc/self/exe", strconv.Itoa(len(content)))
	command.ExtraFiles = []*os.File{file}
	command.Stderr = os.Stderr
	to, err := command.StdinPipe()
	check(err)
	from, err := command.StdoutPipe()
	check(err)
	check(command.Start())
	check(file.Close()) // the file system ends with the server
	_, err = to.Write(content)
	check(err)
	answers := bufio.NewReader(from)
	return func(line string) {
		_, err := fmt.Fprintln(to, line)
		check(err)
		_, err = answers.ReadString('\n')
		check(err)
	}
}

// Uses a tenth of a CPU, so that the process is sampled.
func work() {
	for {
		for begin := time.Now(); time.Since(begin) < time.Millisecond; {
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func mapMemory() {
	call(syscall.SYS_MMAP, 0, page, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0), 0)
}

func main() {
	if len(os.Args) > 1 {
		serveFile()
		return
	}
	debug.SetGCPercent(-1) // it would look at the stack
	device, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	check(err)
	goDeeper(depth, false) // the stack does not move any more then
	go func() {
		goDeeper(depth, false)
		goDeeper(depth, true)
	}()
	<-deep
	start, end := (last/page+1)*page, first/page*page
	stack := unsafe.Slice((*byte)(unsafe.Pointer(start)), end-start)
	content := append([]byte(nil), stack...)
	mount := mountNowhere(device)
	tell := startServer(device, content) // the device cannot be read before
	open := func() int { return call(syscall.SYS_OPENAT, uintptr(mount), text("file"), syscall.O_RDONLY) }
	check(syscall.Close(open())) // finds out that closing needs no answer: our end does not wait for one
	file := open()

	fmt.Println("{}")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("{}") {
		switch in.Text() {
		case "map":
			go work()
			go mapMemory()
		case "answer":
			tell("answer")
		case "silence":
			tell("silence")
			call(syscall.SYS_MMAP, start, end-start, syscall.PROT_READ|syscall.PROT_WRITE,
				syscall.MAP_PRIVATE|syscall.MAP_FIXED, uintptr(file), 0)
		}
	}
}
