/*
 * The kernel answers almost every refusal with EPERM. The cause can be a capability (which one
 * depends on the kernel version), lockdown, a sysctl, a memory limit before 5.11, or a
 * security module. After a failure these are checked one after the other, and the first that
 * applies is named. Checking after the failure rather than before it means that a wrong guess
 * never keeps the agent from starting.
 */
#include "node-agent/sample/privileges.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "common/system/fs.h"
#include "common/telemetry/log.h"

#define CAP_EFF_LINE "\nCapEff:\t"
#define CAP_EFF_DIGITS 16
#define STATUS_MAX_BYTES 65536
#define PARANOID_UNKNOWN (-100)
#define BTF_PATH "/sys/kernel/btf/vmlinux"

static bool version_before(const struct privileges *p, unsigned major, unsigned minor)
{
	return p->kernel_major < major || (p->kernel_major == major && p->kernel_minor < minor);
}

int privileges_parse_status(const char *text, size_t len, uint64_t *ret)
{
	const char *p = memmem(text, len, CAP_EFF_LINE, strlen(CAP_EFF_LINE));
	uint64_t v = 0;

	if (!p)
		return -EBADMSG;
	p += strlen(CAP_EFF_LINE);
	if ((size_t)(text + len - p) < CAP_EFF_DIGITS)
		return -EBADMSG;
	for (int i = 0; i < CAP_EFF_DIGITS; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = p[i] ? strchr(digits, p[i]) : NULL;

		if (!d)
			return -EBADMSG;
		v = v << 4 | (uint64_t)(d - digits);
	}
	*ret = v;
	return 0;
}

static void read_capabilities(struct privileges *ret)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, STATUS_MAX_BYTES);
	ret->effective_known = fs_read_at(AT_FDCWD, "/proc/self/status", &text) == 0 &&
			       privileges_parse_status(text.data, text.len, &ret->effective) == 0;
}

static void read_paranoid(struct privileges *ret)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 64);
	ret->perf_event_paranoid = PARANOID_UNKNOWN;
	if (fs_read_at(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", &text) == 0 && text.data)
		ret->perf_event_paranoid = (int)strtol(text.data, NULL, 10);
}

static void read_lockdown(struct privileges *ret)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 256);
	ret->locked_down = fs_read_at(AT_FDCWD, "/sys/kernel/security/lockdown", &text) == 0 &&
			   text.data && strstr(text.data, "[confidentiality]");
}

void privileges_read(struct privileges *ret)
{
	struct utsname u;
	struct rlimit lim;

	*ret = (struct privileges){.memlock_bytes = UINT64_MAX, .kernel_major = UINT32_MAX};
	ret->root = geteuid() == 0;
	ret->btf = access(BTF_PATH, R_OK) == 0;
	read_capabilities(ret);
	read_paranoid(ret);
	read_lockdown(ret);
	if (getrlimit(RLIMIT_MEMLOCK, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY)
		ret->memlock_bytes = lim.rlim_cur;
	if (uname(&u) == 0) {
		char *end;

		ret->kernel_major = (unsigned)strtoul(u.release, &end, 10);
		if (*end == '.')
			ret->kernel_minor = (unsigned)strtoul(end + 1, NULL, 10);
	}
}

static bool has(const struct privileges *p, unsigned cap)
{
	return !p->effective_known || p->effective >> cap & 1;
}

/* The capability that the step lacks, or NULL. CAP_SYS_ADMIN includes the others on all kernels. */
static const char *missing_capability(const struct privileges *p, enum privileges_step step)
{
	if (has(p, CAP_SYS_ADMIN))
		return NULL;
	if (version_before(p, 5, 8))
		return "CAP_SYS_ADMIN";
	if (step == PRIVILEGES_LOAD_BPF && !has(p, CAP_BPF))
		return "CAP_BPF";
	return has(p, CAP_PERFMON) ? NULL : "CAP_PERFMON";
}

int privileges_explain(const struct privileges *p, enum privileges_step step, int code,
		       struct err *err)
{
	const char *what = step == PRIVILEGES_LOAD_BPF ? "load BPF programs" : "open perf events";
	const char *cap = missing_capability(p, step);

	if (code != -EPERM && code != -EACCES) {
		if (step == PRIVILEGES_LOAD_BPF && !p->btf)
			return err_set(err, code, "cannot %s: this kernel has no " BTF_PATH, what);
		return err_set(err, code, "cannot %s: %s", what, strerror(-code));
	}
	if (cap && !p->root)
		return err_set(err, code, "cannot %s: not root and without %s", what, cap);
	if (cap)
		return err_set(err, code, "cannot %s: root without %s", what, cap);
	if (p->locked_down)
		return err_set(err, code, "cannot %s: kernel lockdown is \"confidentiality\"",
			       what);
	if (step == PRIVILEGES_OPEN_PERF_EVENT && p->perf_event_paranoid > 2)
		return err_set(err, code,
			       "cannot %s: set sysctl kernel.perf_event_paranoid=2 (is %d)", what,
			       p->perf_event_paranoid);
	if (step == PRIVILEGES_LOAD_BPF && version_before(p, 5, 11) &&
	    p->memlock_bytes != UINT64_MAX)
		return err_set(err, code,
			       "cannot %s: RLIMIT_MEMLOCK is %llu bytes and raising it needs "
			       "CAP_SYS_RESOURCE",
			       what, (unsigned long long)p->memlock_bytes);
	return err_set(err, code, "cannot %s: %s (a security module or seccomp?)", what,
		       strerror(-code));
}

/* ---- the log of libbpf ---- */

static char verifier_line[160];

void bpf_log_last_line(const char *log, char *ret, size_t size)
{
	const char *line = log, *best = "";
	size_t best_len = 0;

	while (*line) {
		size_t len = strcspn(line, "\n");
		const char *next = line + len + (line[len] == '\n');

		if (strncmp(line, "-- END PROG LOAD LOG", 20) == 0)
			break;
		if (len > 0 && strncmp(line, "processed ", 10) != 0) {
			best = line;
			best_len = len;
		}
		line = next;
	}
	snprintf(ret, size, "%.*s", (int)best_len, best);
}

/* libbpf passes whole messages; the load log of a program is one message of any length. */
static PRINTF_LIKE(2, 0) int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *msg;
	int n;

	(void)level;
	n = vasprintf(&msg, fmt, ap);
	if (n < 0)
		return 0;
	if (strstr(msg, "BEGIN PROG LOAD LOG"))
		bpf_log_last_line(strchr(msg, '\n') ? strchr(msg, '\n') : "", verifier_line,
				  sizeof(verifier_line));
	msg[strcspn(msg, "\n")] = '\0';
	log_debug("libbpf", "message=%.200s", msg);
	free(msg);
	return n;
}

void bpf_log_install(void)
{
	verifier_line[0] = '\0';
	libbpf_set_print(print);
}

const char *bpf_log_verifier_line(void)
{
	return verifier_line;
}
