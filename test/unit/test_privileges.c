#include <errno.h>
#include <linux/capability.h>

#include "node-agent/sample/privileges.h"
#include "test/lib/unit.h"

#define BIT(cap) (UINT64_C(1) << (cap))

static struct privileges all(void)
{
	return (struct privileges){
		.effective = BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF) | BIT(CAP_PERFMON),
		.effective_known = true,
		.root = true,
		.btf = true,
		.perf_event_paranoid = 2,
		.memlock_bytes = UINT64_MAX,
		.kernel_major = 6,
		.kernel_minor = 1,
	};
}

static void check_says(const struct privileges *p, enum privileges_step step, int code,
		       const char *part)
{
	struct err err = {0};

	assert_int_equal(privileges_explain(p, step, code, &err), code);
	if (!strstr(err.msg, part))
		fail_msg("\"%s\" is not in \"%s\"", part, err.msg);
	assert_null(strchr(err.msg, '\n'));
}

TEST(names_the_capability_that_is_missing)
{
	struct privileges p = all();

	p.effective = 0;
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "root without CAP_BPF");
	p.root = false;
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "not root and without CAP_BPF");
	p.effective = BIT(CAP_BPF);
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "CAP_PERFMON");
	check_says(&p, PRIVILEGES_OPEN_PERF_EVENT, -EACCES, "CAP_PERFMON");
	p.kernel_major = 5;
	p.kernel_minor = 4;
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "CAP_SYS_ADMIN");
}

TEST(names_the_setting_that_is_in_the_way)
{
	struct privileges p = all();

	p.perf_event_paranoid = 4;
	check_says(&p, PRIVILEGES_OPEN_PERF_EVENT, -EACCES, "kernel.perf_event_paranoid=2 (is 4)");
	p.locked_down = true;
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "lockdown");

	p = all();
	p.kernel_major = 5;
	p.kernel_minor = 10;
	p.memlock_bytes = 65536;
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "CAP_SYS_RESOURCE");
	p.kernel_minor = 11;
	check_says(&p, PRIVILEGES_LOAD_BPF, -EPERM, "security module");
}

TEST(names_the_missing_types_of_the_kernel)
{
	struct privileges p = all();

	p.btf = false;
	check_says(&p, PRIVILEGES_LOAD_BPF, -ESRCH, "/sys/kernel/btf/vmlinux");
	p.btf = true;
	check_says(&p, PRIVILEGES_LOAD_BPF, -ENOMEM, "Cannot allocate memory");
}

TEST(reads_the_effective_capabilities_only)
{
	const char *text =
		"Name:\tx\nCapPrm:\t0000000000000001\nCapEff:\t000001c0000000a2\nCapBnd:";
	uint64_t v = 0;

	assert_int_equal(privileges_parse_status(text, strlen(text), &v), 0);
	assert_int_equal(v, 0x1c0000000a2);
	assert_int_equal(privileges_parse_status(text, strlen(text) - 12, &v), -EBADMSG);
	assert_int_equal(privileges_parse_status("", 0, &v), -EBADMSG);
	assert_int_equal(privileges_parse_status("\nCapEff:\t00000000000000zz\n", 26, &v),
			 -EBADMSG);
}

TEST(what_it_reads_of_this_machine_is_plausible)
{
	struct privileges p;

	privileges_read(&p);
	assert_true(p.effective_known);
	assert_true(p.kernel_major >= 4 && p.kernel_major < 100);
	assert_int_equal(p.root, geteuid() == 0);
}

TEST(keeps_the_verifiers_last_words)
{
	char line[40];

	bpf_log_last_line("\n0: (b7) r0 = 1\nR1 type=scalar expected=fp\nprocessed 3 insns\n"
			  "-- END PROG LOAD LOG --\n",
			  line, sizeof(line));
	assert_string_equal(line, "R1 type=scalar expected=fp");
	bpf_log_last_line("", line, sizeof(line));
	assert_string_equal(line, "");
	bpf_log_last_line("0123456789012345678901234567890123456789xyz", line, sizeof(line));
	assert_int_equal(strlen(line), sizeof(line) - 1);
}
