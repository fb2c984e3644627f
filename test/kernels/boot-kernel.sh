#!/bin/sh
# boot-kernel.sh NAME ARCH DIR INITRAMFS LOG CPUS TESTS: boots DIR/boot/vmlinuz-* in plain emulation
# and prints one line with the results in its log, and the whole log if something failed. TESTS are
# those of test/bpf: "all", or names with commas.
set -u
name=$1 arch=$2 dir=$3 initramfs=$4 log=$5 cpus=$6 tests=$7
seconds=${BOOT_TIMEOUT:-2400}
image=$(ls "$dir"/boot/vmlinuz-*)
release=${image##*/vmlinuz-}
from=$(date +%s)

# A simple x86 processor is fast to emulate. It has no cmpxchg16b, because qemu 7.2 sometimes hands
# wrong EFLAGS to an interrupt after that instruction, which the kernel's allocator uses a lot.
# mitigations=off: what protects a processor costs an emulated one much, and protects nothing here.
# no_timer_check: on a busy host, the guest may see no tick while the kernel waits for one, and panic.
options="quiet panic=-1 mitigations=off bpf_tests=$tests"
case $arch in
amd64) set -- qemu-system-x86_64 -cpu qemu64,cx16=off \
	-append "console=ttyS0 no_timer_check $options" ;;
arm64) set -- qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on \
	-append "console=ttyAMA0 $options" ;;
esac
# A kernel that stops before its first process runs has not met our code: qemu's emulation of two
# processors is not exact where a kernel patches itself while it boots, which shows on a busy host as
# an oops or a hang. So that is tried again, and said. A kernel patches itself later, too, when the
# first container switches parts of it on: a breakpoint that it had put there and taken away again is
# still met, "Oops: int3".
has_booted() { grep -qs "^@kernel " "$log.raw"; }
met_old_code() { grep -qs "Oops: int3" "$log.raw"; }
boots=0
rm -f "$log".*
until [ "$boots" -eq 3 ] || { has_booted && ! met_old_code; }; do
	[ "$boots" -eq 0 ] || mv "$log.raw" "$log.boot$boots"
	boots=$((boots + 1))
	timeout "$seconds" "$@" -accel tcg -smp "$cpus" -m 512 -nodefaults -no-reboot -display none \
		-serial stdio -kernel "$image" -initrd "$initramfs" </dev/null >"$log.raw" 2>&1 &
	guest=$!
	waited=0
	until has_booted || [ "$waited" -eq 900 ] || ! kill -0 "$guest" 2>/dev/null; do
		sleep 1
		waited=$((waited + 1))
	done
	has_booted || kill "$guest" 2>/dev/null
	wait "$guest"
done
[ "$boots" -eq 1 ] || echo "$name: $boots attempts to boot; see $log.boot*"
tr -d '\r' <"$log.raw" >"$log"

count() { grep -c "$1" "$log"; }
said=$(($(count '^@pass ') + $(count '^@fail ')))
meant=$(grep -c '^check "' "$(dirname "$0")/guest-init.sh")
passed=$(($(count '^\[       OK \] ') + $(count '^@pass ')))
failed=$(count '^@fail ')
grep -qxF "@kernel $release" "$log" || {
	echo "@fail $release did not boot" >>"$log"
	failed=$((failed + 1))
}
if ! grep -qx '@done' "$log" || [ "$said" -ne "$meant" ]; then
	echo "@fail all checks ended within $seconds s" >>"$log"
	failed=$((failed + 1))
fi

insns=$(sed -n 's/^\([a-z_]*\): \([0-9]*\) verified.*/\1 \2/p' "$log" | paste -sd, | sed 's/,/, /g')
printf '%-5s %-11s %-28s %3s s  %s of %s  verified: %s\n' \
	"$([ "$failed" -eq 0 ] && echo ok || echo FAIL)" "$name" "$release" \
	$(($(date +%s) - from)) "$passed" $((passed + failed)) "${insns:-nothing}"
if [ "$failed" -gt 0 ]; then
	echo "---- $log"
	cat "$log"
	echo "----"
fi
echo "$passed $failed" >"$log.result"
