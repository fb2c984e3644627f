/*
 * Two filters, of which the kernel takes the more severe answer: one by number, and one by argument
 * for the calls that have limits. In one filter, rules for the same call would overlap, and which
 * of them counts would depend on the library. Arguments are compared by their lower 32 bits, as all
 * of ours are ints: the upper half of the register may hold anything, and the kernel ignores it.
 *
 * Refused calls trap instead of returning an error, because only then the agent learns of them. The
 * numbers that the library does not know are answered by the kernel alone: a C library probes for
 * new calls at moments when it has blocked all signals, and a trap would kill.
 */
#include "common/privilege/syscall_filter.h"

#include <errno.h>
#include <seccomp.h>

#include "common/privilege/syscall_refusals.h"
#include "common/telemetry/log.h"

#define N_NUMBERS 1024
#define N_REFUSED_VALUES 128
#define LOWER_BITS UINT64_C(0xffffffff)
#define BINARY_TREE 2

const char *const syscall_filter_mode_names[] = {
	[SYSCALL_FILTER_ON] = "on",
	[SYSCALL_FILTER_LOG] = "log",
	[SYSCALL_FILTER_OFF] = "off",
	NULL,
};

static bool has(const struct syscall_group *groups, const char *name)
{
	for (const struct syscall_group *g = groups; g && g->reason; g++) {
		for (const char *const *n = g->names; *n; n++) {
			if (strcmp(*n, name) == 0)
				return true;
		}
	}
	return false;
}

static bool starts_program(const char *name)
{
	return strcmp(name, "execve") == 0 || strcmp(name, "execveat") == 0;
}

/*
 * uretprobe and uprobe of x86-64, which older libraries do not know: the kernel's trampolines make
 * them in a process with probes, such as those of tracers of TLS. Kernels before 6.14 apply filters
 * to them, and a process crashes that does not get its answer.
 */
static bool is_trampoline(int number)
{
#ifdef __x86_64__
	return number == 335 || number == 336;
#else
	(void)number;
	return false;
#endif
}

static enum syscall_verdict verdict_on(const struct syscall_filter_config *cfg, const char *name)
{
	if (has(cfg->own, name) || has(syscalls_common, name))
		return SYSCALL_ALLOWED;
	if (cfg->starts_programs && starts_program(name))
		return SYSCALL_ALLOWED;
	if (has(syscalls_fatal, name))
		return SYSCALL_FATAL;
	if (has(syscalls_absent, name))
		return cfg->starts_programs ? SYSCALL_ALLOWED : SYSCALL_ABSENT;
	return cfg->starts_programs ? SYSCALL_ALLOWED : SYSCALL_REFUSED;
}

enum syscall_verdict syscall_filter_verdict(const struct syscall_filter_config *cfg, long number)
{
	AUTO_FREE char *name = NULL;

	if (number < 0 || number >= N_NUMBERS)
		return SYSCALL_ABSENT;
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
	if (!name)
		return cfg->starts_programs || is_trampoline((int)number) ? SYSCALL_ALLOWED
									  : SYSCALL_ABSENT;
	return verdict_on(cfg, name);
}

/* ---- actions ---- */

static uint32_t action_of(const struct syscall_filter_config *cfg, enum syscall_verdict v)
{
	if (v == SYSCALL_ALLOWED)
		return SCMP_ACT_ALLOW;
	if (cfg->mode == SYSCALL_FILTER_LOG)
		return SCMP_ACT_LOG;
	if (v == SYSCALL_ABSENT)
		return SCMP_ACT_ERRNO(ENOSYS);
	/* what a foreign program does is its own affair: it has no handler, and may be probing */
	if (cfg->starts_programs)
		return SCMP_ACT_ERRNO(EPERM);
	return v == SYSCALL_FATAL ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_TRAP;
}

/* ---- by argument ---- */

static bool is_one_of(const struct syscall_limit *l, uint64_t value)
{
	for (size_t i = 0; i < l->n_one_of; i++) {
		if (l->one_of[i] == value)
			return true;
	}
	return false;
}

/* The rule for the calls whose argument, masked, is the value. */
static int add_value(scmp_filter_ctx f, uint32_t action, const struct syscall_limit *l,
		     uint64_t mask, uint64_t value)
{
	const struct scmp_arg_cmp cmp = {l->argument, SCMP_CMP_MASKED_EQ, mask, value};
	int number = seccomp_syscall_resolve_name(l->name);

	return number < 0 ? 0 : seccomp_rule_add_array(f, action, number, 1, &cmp);
}

static int add_refused_values(scmp_filter_ctx f, uint32_t action, const struct syscall_limit *l)
{
	int r = 0;

	for (uint64_t v = 0; v < N_REFUSED_VALUES && r == 0; v++) {
		if (!is_one_of(l, v))
			r = add_value(f, action, l, LOWER_BITS, v);
	}
	return r;
}

static int add_refused_bits(scmp_filter_ctx f, uint32_t action, const struct syscall_limit *l)
{
	int r = 0;

	for (uint64_t rest = l->value; rest != 0 && r == 0; rest &= rest - 1)
		r = add_value(f, action, l, rest & -rest, rest & -rest);
	return r;
}

static int add_limits(scmp_filter_ctx f, const struct syscall_filter_config *cfg,
		      const struct syscall_limit *limits)
{
	uint32_t fatal = action_of(cfg, SYSCALL_FATAL), refused = action_of(cfg, SYSCALL_REFUSED);
	int r = 0;

	for (const struct syscall_limit *l = limits; l && l->name && r == 0; l++) {
		switch (l->check) {
		case SYSCALL_IS_ONE_OF:
			/* a foreign program may use any family of sockets */
			if (!cfg->starts_programs)
				r = add_refused_values(f, refused, l);
			break;
		case SYSCALL_HAS_NONE_OF:
			r = add_refused_bits(f, fatal, l);
			break;
		case SYSCALL_IS_NOT:
			r = add_value(f, fatal, l, LOWER_BITS, l->value);
			break;
		}
	}
	return r;
}

/* ---- by number ---- */

static const struct syscall_limit *find_one_of(const struct syscall_limit *limits, const char *name)
{
	for (const struct syscall_limit *l = limits; l && l->name; l++) {
		if (l->check == SYSCALL_IS_ONE_OF && strcmp(l->name, name) == 0)
			return l;
	}
	return NULL;
}

static int add_allowed(scmp_filter_ctx f, const struct syscall_filter_config *cfg, int number,
		       const char *name)
{
	const struct syscall_limit *l =
		find_one_of(cfg->own_limits, name) ?: find_one_of(syscall_limits_common, name);
	int r = 0;

	if (!l)
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, number, 0);
	for (size_t i = 0; i < l->n_one_of && r == 0; i++)
		r = add_value(f, SCMP_ACT_ALLOW, l, LOWER_BITS, l->one_of[i]);
	return r;
}

static int add_number(scmp_filter_ctx f, const struct syscall_filter_config *cfg, int number,
		      uint32_t otherwise)
{
	AUTO_FREE char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	enum syscall_verdict v;
	uint32_t action;

	if (!name)
		return is_trampoline(number) && otherwise != SCMP_ACT_ALLOW
			       ? seccomp_rule_add(f, SCMP_ACT_ALLOW, number, 0)
			       : 0;
	v = verdict_on(cfg, name);
	action = action_of(cfg, v);
	if (action == otherwise)
		return 0;
	return v == SYSCALL_ALLOWED ? add_allowed(f, cfg, number, name)
				    : seccomp_rule_add(f, action, number, 0);
}

static int add_numbers(scmp_filter_ctx f, const struct syscall_filter_config *cfg,
		       uint32_t otherwise)
{
	int r = 0;

	for (int number = 0; number < N_NUMBERS && r == 0; number++)
		r = add_number(f, cfg, number, otherwise);
	return r;
}

/* ---- install ---- */

static void release(const scmp_filter_ctx *f)
{
	if (*f)
		seccomp_release(*f);
}

/* For all threads; calls of other architectures (32 bit) kill. */
static int set_attributes(scmp_filter_ctx f, enum syscall_filter_mode mode)
{
	uint32_t foreign = mode == SYSCALL_FILTER_LOG ? SCMP_ACT_LOG : SCMP_ACT_KILL_PROCESS;
	int r = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	if (r == 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, foreign);
	if (r == 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC, 1);
	/*
	 * Both are for speed, and older libraries and kernels do without: before 5.11 the kernel
	 * evaluates the filter at every call, and before 5.16 a filter makes all loads after
	 * stores slower, which protects programs that run foreign code, such as browsers.
	 */
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	return r;
}

static int load_limits(const struct syscall_filter_config *cfg)
{
	CLEANUP(release) scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!f)
		return -ENOMEM;
	r = set_attributes(f, cfg->mode);
	if (r < 0)
		return r;
	r = add_limits(f, cfg, syscall_limits_common);
	if (r < 0)
		return r;
	r = add_limits(f, cfg, cfg->own_limits);
	if (r < 0)
		return r;
	return seccomp_load(f);
}

static int load_numbers(const struct syscall_filter_config *cfg)
{
	uint32_t otherwise = cfg->starts_programs ? SCMP_ACT_ALLOW : action_of(cfg, SYSCALL_ABSENT);
	CLEANUP(release) scmp_filter_ctx f = seccomp_init(otherwise);
	int r;

	if (!f)
		return -ENOMEM;
	r = set_attributes(f, cfg->mode);
	if (r < 0)
		return r;
	r = add_numbers(f, cfg, otherwise);
	if (r < 0)
		return r;
	return seccomp_load(f);
}

int syscall_filter_install(const struct syscall_filter_config *cfg, struct err *err)
{
	int r;

	if (cfg->mode == SYSCALL_FILTER_OFF) {
		log_warn("system calls are not filtered", "reason=--seccomp=off");
		return 0;
	}
	/* 3: LOG and KILL_PROCESS; the library asks the kernel */
	if (seccomp_api_get() < 3) {
		log_warn("system calls are not filtered",
			 "reason=\"this kernel or container has no seccomp\"");
		return 0;
	}
	r = syscall_refusals_catch();
	if (r == 0)
		r = load_limits(cfg);
	if (r == 0)
		r = load_numbers(cfg);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return err_set(err, r,
			       "cannot filter system calls (--seccomp=off does without): %s",
			       strerror(-r));
	if (cfg->mode == SYSCALL_FILTER_ON && !cfg->starts_programs)
		return 0; /* the usual case */
	log_info("filtering system calls", "mode=%s programs_may_start=%s",
		 syscall_filter_mode_names[cfg->mode], cfg->starts_programs ? "yes" : "no");
	return 0;
}
