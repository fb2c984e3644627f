#include "node-agent/symbol/kernel_symbols.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/privilege/capabilities.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"

#define NEW_MODULE UINT64_C(0xffffffffc0100010)

struct fixture {
	const char *root;
	struct kernel_symbols *ks;
};

static void write_file(const struct fixture *f, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void begin(struct fixture *f)
{
	f->root = temp_dir();
	write_file(f, "kallsyms", "ffffffff81000000 T _stext\nffffffff81000100 T _etext\n");
	write_file(f, "modules", "veth 1 0 - Live 0xffffffffc0000000\n");
	assert_int_equal(kernel_symbols_new(&f->ks, f->root), 0);
}

static void end(struct fixture *f)
{
	char path[128];

	kernel_symbols_free(f->ks);
	snprintf(path, sizeof(path), "%s/kallsyms", f->root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/modules", f->root);
	unlink(path);
}

static enum kernel_symbols_outcome find(const struct fixture *f, uint64_t address, uint64_t now_ns)
{
	const char *name;

	return kernel_symbols_find(f->ks, address, now_ns, &name);
}

static void load_a_module(const struct fixture *f)
{
	write_file(f, "kallsyms",
		   "ffffffff81000000 T _stext\nffffffff81000100 T _etext\n"
		   "ffffffffc0100000 t fresh\t[nf]\n");
	write_file(f, "modules",
		   "veth 1 0 - Live 0xffffffffc0000000\n"
		   "nf 1 0 - Live 0xffffffffc0100000\n");
}

TEST(a_new_module_is_found_a_minute_later)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(find(&f, NEW_MODULE, 1), KERNEL_SYMBOLS_UNKNOWN);
	load_a_module(&f);
	assert_int_equal(find(&f, NEW_MODULE, 59 * NS_PER_S), KERNEL_SYMBOLS_UNKNOWN);
	assert_int_equal(find(&f, NEW_MODULE, 61 * NS_PER_S), KERNEL_SYMBOLS_FOUND);
	assert_int_equal(kernel_symbols_generation(f.ks), 2);
	end(&f);
}

TEST(a_module_used_more_often_is_no_reason_to_read_again)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(find(&f, NEW_MODULE, 1), KERNEL_SYMBOLS_UNKNOWN);
	write_file(&f, "modules", "veth 1 5 bridge, Live 0xffffffffc0000000\n");
	assert_int_equal(find(&f, NEW_MODULE, 61 * NS_PER_S), KERNEL_SYMBOLS_UNKNOWN);
	assert_int_equal(kernel_symbols_generation(f.ks), 1);
	end(&f);
}

TEST(without_modules_it_is_read_again_after_ten_minutes)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(find(&f, NEW_MODULE, 1), KERNEL_SYMBOLS_UNKNOWN);
	write_file(&f, "kallsyms",
		   "ffffffff81000000 T _stext\n"
		   "ffffffffc0100000 t bpf_prog_1\t[bpf]\n");
	assert_int_equal(find(&f, NEW_MODULE, 300 * NS_PER_S), KERNEL_SYMBOLS_UNKNOWN);
	assert_int_equal(find(&f, NEW_MODULE, 601 * NS_PER_S), KERNEL_SYMBOLS_FOUND);
	end(&f);
}

TEST(what_cannot_be_read_is_hidden)
{
	struct kernel_symbols *ks;
	const char *name;

	assert_int_equal(kernel_symbols_new(&ks, "/nonexistent"), 0);
	assert_int_equal(kernel_symbols_find(ks, NEW_MODULE, 1, &name), KERNEL_SYMBOLS_HIDDEN);
	kernel_symbols_free(ks);
}

/* What the log has gained since. */
static void expect_log(int fd, const char *want)
{
	char text[1024] = "";

	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	assert_non_null(strstr(text, want));
	/* once */
	assert_null(strstr(strchr(text, '\n'), "level=warn"));
}

TEST(hidden_addresses_are_warned_of_once)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	struct fixture f;
	char path[128];

	assert_true(fd >= 0);
	log_set_fd(fd);
	begin(&f);
	snprintf(path, sizeof(path), "%s/sys", f.root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/sys/kernel", f.root);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(&f, "sys/kernel/kptr_restrict", "2\n");
	write_file(&f, "kallsyms", "0000000000000000 T _stext\n0000000000000000 T _etext\n");
	assert_int_equal(find(&f, NEW_MODULE, 1), KERNEL_SYMBOLS_HIDDEN);
	assert_int_equal(find(&f, NEW_MODULE, 1200 * NS_PER_S), KERNEL_SYMBOLS_HIDDEN);
	log_set_fd(STDERR_FILENO);
	expect_log(fd, "reason=\"kernel.kptr_restrict is 2\"");
	snprintf(path, sizeof(path), "%s/sys/kernel/kptr_restrict", f.root);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/sys/kernel", f.root);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/sys", f.root);
	assert_int_equal(rmdir(path), 0);
	end(&f);
	close(fd);
}

/* In a process of its own, which gives the capability up. */
TEST(without_the_capability_that_is_the_reason)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	struct fixture f;
	pid_t child;
	int status;

	assert_true(fd >= 0);
	begin(&f);
	write_file(&f, "kallsyms", "0000000000000000 T _stext\n0000000000000000 T _etext\n");
	child = fork();
	if (child == 0) {
		log_set_fd(fd);
		if (capabilities_keep(~CAPABILITY(CAP_SYSLOG)) < 0)
			_exit(1);
		_exit(find(&f, NEW_MODULE, 1) == KERNEL_SYMBOLS_HIDDEN ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	expect_log(fd, "reason=\"the agent lacks CAP_SYSLOG\"");
	end(&f);
	close(fd);
}
