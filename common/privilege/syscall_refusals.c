#include "common/privilege/syscall_refusals.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"

#define N_NUMBERS 1024
/* si_code of a signal of seccomp: <asm-generic/siginfo.h>, which glibc 2.36 does not have */
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

/* The handler runs in any thread, between any two instructions: it touches nothing but these. */
static _Atomic uint64_t n_refused;
static _Atomic uint32_t n_of[N_NUMBERS];

static void set_result(ucontext_t *c, long result)
{
#if defined(__x86_64__)
	c->uc_mcontext.gregs[REG_RAX] = result;
#elif defined(__aarch64__)
	c->uc_mcontext.regs[0] = (unsigned long)result;
#else
/* cppcheck-suppress preprocessorErrorDirective */
#error "say where this machine returns the result of a system call"
#endif
}

static void on_sigsys(int signal, siginfo_t *info, void *context)
{
	unsigned number = (unsigned)info->si_syscall;

	(void)signal;
	if (info->si_code != SYS_SECCOMP)
		return; /* kill(2) */
	atomic_fetch_add_explicit(&n_refused, 1, memory_order_relaxed);
	if (number < N_NUMBERS)
		atomic_fetch_add_explicit(&n_of[number], 1, memory_order_relaxed);
	set_result(context, -EPERM);
}

int syscall_refusals_catch(void)
{
	/* calls of the handler's own thread are as allowed as before: it makes none */
	struct sigaction how = {.sa_sigaction = on_sigsys,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

	sigemptyset(&how.sa_mask);
	return sigaction(SIGSYS, &how, NULL) < 0 ? -errno : 0;
}

static void report_one(unsigned number)
{
	AUTO_FREE char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);

	log_error("refused a system call that is not in the agent's list; if something fails, "
		  "start it with --seccomp=log and report the call",
		  "call=%s number=%u", name ? name : "?", number);
}

void syscall_refusals_report(void)
{
	static uint64_t n_reported;
	static bool reported[N_NUMBERS];
	uint64_t n = syscall_refusals_count();

	if (n == n_reported)
		return;
	n_reported = n;
	for (unsigned i = 0; i < N_NUMBERS; i++) {
		if (!reported[i] && atomic_load_explicit(&n_of[i], memory_order_relaxed) > 0) {
			reported[i] = true;
			report_one(i);
		}
	}
}

uint64_t syscall_refusals_count(void)
{
	return atomic_load_explicit(&n_refused, memory_order_relaxed);
}

static uint64_t read_count(void *ctx)
{
	(void)ctx;
	return syscall_refusals_count();
}

static const struct metric_def metric_defs[] = {
	{.name = "_syscalls_refused_total",
	 .help = "System calls that the seccomp filter refused: a mistake in the agent's list, or "
		 "an attack",
	 .read = read_count},
};
METRIC_TABLE(metric_table, metric_defs);

int syscall_refusals_register(struct metrics *ms, const char *prefix)
{
	static struct metric values[ARRAY_SIZE(metric_defs)]; /* not used */

	return metrics_register_as(ms, prefix, &metric_table, values, NULL);
}
