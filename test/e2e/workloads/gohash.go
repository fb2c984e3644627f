// Spends its time in assembly that uses BP for other things than frames, or has no frame: gohash
// SECONDS. It prints what share of its CPU time each function took, by its thread CPU clock.
package main

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"math/big"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const threadCPUClockID = 3

var data = make([]byte, 1<<19)
var sink byte

func cpuNs() uint64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPUClockID, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}

//go:noinline
func spendMD5() { s := md5.Sum(data); sink = s[0] }

//go:noinline
func spendSHA1() { s := sha1.Sum(data); sink = s[0] }

//go:noinline
func spendSHA256() { s := sha256.Sum256(data); sink = s[0] }

//go:noinline
func spendSHA512() { s := sha512.Sum512(data); sink = s[0] }

//go:noinline
func spendBig() {
	x := new(big.Int).Lsh(big.NewInt(3), 1<<14)
	for i := 0; i < 40; i++ {
		sink = byte(new(big.Int).Mul(x, x).BitLen())
	}
}

//go:noinline
func spendCopy() {
	to := make([]byte, len(data))
	for i := 0; i < 20; i++ {
		copy(to, data)
	}
	sink = to[0]
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	names := []string{"MD5", "SHA1", "SHA256", "SHA512", "Big", "Copy"}
	spend := []func(){spendMD5, spendSHA1, spendSHA256, spendSHA512, spendBig, spendCopy}
	spent := make([]uint64, len(spend))
	from := cpuNs()
	for before := from; before-from < uint64(seconds*1e9); {
		least := 0
		for i := range spent {
			if spent[i] < spent[least] {
				least = i
			}
		}
		spend[least]()
		now := cpuNs()
		spent[least] += now - before
		before = now
	}
	fmt.Printf("{\"cpuNs\":%d", cpuNs()-from)
	for i, n := range names {
		fmt.Printf(",\"main.spend%s\":%d", n, spent[i])
	}
	fmt.Println("}")
}
