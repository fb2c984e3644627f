#include "node-agent/profile/stack_landmark.h"

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
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.mstart",
	"runtime.mstart.abi0",
	"runtime.mstart0",
	"runtime.mcall",
	"runtime.mcall.abi0",
	"runtime.rt0_go",
	"runtime.rt0_go.abi0",
};

static const char *const switches[] = {
	"runtime.systemstack",
	"runtime.systemstack.abi0",
	"runtime.mcall",
	"runtime.mcall.abi0",
	"runtime.morestack",
	"runtime.morestack.abi0",
	"runtime.asmcgocall",
	"runtime.asmcgocall.abi0",
	"runtime.cgocallback",
	"runtime.cgocallback.abi0",
	"runtime.sigtramp",
	"runtime.sigtramp.abi0",
	/* they call the vDSO; of both architectures and of all releases since Go 1.13 */
	"runtime.nanotime1",
	"runtime.nanotime1.abi0",
	"time.now",
	"time.now.abi0",
	"runtime.walltime",
	"runtime.walltime.abi0",
	"runtime.walltime1",
	"runtime.walltime1.abi0",
	"runtime.nanotime",
};

static const char *const signal_returns[] = {
	"__restore_rt",
	"__kernel_rt_sigreturn",
	"runtime.sigreturn__sigaction",
	"runtime.sigreturn__sigaction.abi0",
	"runtime.sigreturn",
	"runtime.sigreturn.abi0",
};

static bool is_one_of(const char *function, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(function, names[i]) == 0)
			return true;
	}
	return false;
}

bool stack_is_root(const char *function)
{
	return is_one_of(function, roots, ARRAY_SIZE(roots));
}

bool stack_is_switch(const char *function)
{
	return is_one_of(function, switches, ARRAY_SIZE(switches));
}

bool stack_is_signal_return(const char *function)
{
	return is_one_of(function, signal_returns, ARRAY_SIZE(signal_returns));
}
