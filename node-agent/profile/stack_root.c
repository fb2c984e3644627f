#include "node-agent/profile/stack_root.h"

/* glibc and musl start-up, thread start, Go's runtime (with and without the ABI suffix). */
static const char *const roots[] = {
	"_start",
	"_start_c",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_call_main",
	"main",
	"start_thread",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"start",
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.mstart",
	"runtime.mstart.abi0",
	"runtime.mstart0",
	"runtime.mcall",
	"runtime.mcall.abi0",
	"runtime.systemstack",
	"runtime.systemstack.abi0",
	"runtime.rt0_go",
	"runtime.rt0_go.abi0",
	"runtime.sigreturn",
	"runtime.sigreturn__sigaction",
	"runtime.sigreturn__sigaction.abi0",
};

bool stack_root_is(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (strcmp(function, roots[i]) == 0)
			return true;
	}
	return false;
}
