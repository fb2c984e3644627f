/*
 * check_dotnet_frames PID MAP [FILE RELEASE]: names what the runtime of a process has compiled, and
 * compares that with what the runtime says itself: MAP is the map that it wrote for perf, with
 * DOTNET_PerfMapEnabled=1. Prints what differs, and how many addresses there were; fails if a name
 * is another one, or if a method has none. With FILE, it also writes what it has read for the first
 * addresses of the map into it, for tests without a runtime (test/lib/dotnet_recording.h).
 *
 * Takes what the agent finds in the files of the process (interpreter_files.h). Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>

#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/dotnet/dotnet_names.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/dotnet_recording.h"

#include "bpf/frame_chain.h"

#define TEXT_BYTES 4096u
#define RECORDED_MAX 24u
#define SHOWN_MAX 20u
#define READS_MAX 8192u

struct target {
	int memory_fd;
	struct interpreter_process interpreter;
	struct interpreter_memory memory;
	FILE *out; /* NULL: nothing is recorded */
	bool recording;
	struct recorded {
		uint64_t at;
		size_t n;
	} recorded[READS_MAX];
	unsigned n_reads_recorded;
	unsigned n, n_named, n_wrong, n_stubs, n_recorded;
	uint64_t n_reads;
};

/* Metadata is read again and again, and does not change. */
static bool is_recorded(struct target *t, uint64_t at, size_t n)
{
	for (unsigned i = 0; i < t->n_reads_recorded; i++) {
		if (t->recorded[i].at == at && t->recorded[i].n == n)
			return true;
	}
	if (t->n_reads_recorded < READS_MAX)
		t->recorded[t->n_reads_recorded++] = (struct recorded){at, n};
	return false;
}

static int read_process(void *ctx, uint64_t at, void *to, size_t n)
{
	struct target *t = ctx;
	const uint8_t *bytes = to;

	t->n_reads++;
	if (pread(t->memory_fd, to, n, (off_t)at) != (ssize_t)n)
		return -EFAULT;
	if (t->recording && !is_recorded(t, at, n)) {
		fprintf(t->out, "memory %llx ", (unsigned long long)at);
		for (size_t i = 0; i < n; i++)
			fprintf(t->out, "%02x", bytes[i]);
		fprintf(t->out, "\n");
	}
	return 0;
}

/* ---- what the runtime says ---- */

/* Without what is between < and >, as the arguments of generic methods are. */
static void drop_arguments(char *s)
{
	unsigned depth = 0;
	char *to = s;

	for (; *s; s++) {
		depth += *s == '<';
		if (depth == 0)
			*to++ = *s;
		depth -= *s == '>' && depth > 0;
	}
	*to = '\0';
}

/* "Ns.Type`1+Nested[System.Int32]": without arguments, and without how many parameters there are.
 */
static void drop_instantiation(char *s)
{
	char *to = s;

	while (*s && *s != '[') {
		if (*s == '`') {
			s++;
			s += strspn(s, "0123456789");
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* "RESULT [assembly] Type::Method(ARGUMENTS)[Tier]". Returns false if that is no method. */
static bool parse_method(const char *line, char *assembly, char *type, char *method)
{
	const char *at = line, *end = NULL, *name;

	while ((at = strchr(at, '['))) {
		end = strchr(at, ']');
		if (end && end[1] == ' ' && (at == line || at[-1] == ' '))
			break;
		at++;
	}
	name = at ? strstr(end, "::") : NULL;
	if (!name || strlen(line) >= TEXT_BYTES)
		return false;
	(void)snprintf(assembly, TEXT_BYTES, "%.*s", (int)(end - at - 1), at + 1);
	(void)snprintf(type, TEXT_BYTES, "%.*s", (int)(name - end - 2), end + 2);
	(void)snprintf(method, TEXT_BYTES, "%.*s", (int)strcspn(name + 2, "("), name + 2);
	drop_instantiation(type);
	return true;
}

static bool is_expected(const char *line, const struct interpreter_name *name)
{
	char assembly[TEXT_BYTES], type[TEXT_BYTES], method[TEXT_BYTES], text[TEXT_BYTES];
	char wanted[TEXT_BYTES];

	if (!parse_method(line, assembly, type, method))
		return true;
	if (strcmp(type, "dynamicClass") == 0) {
		(void)snprintf(wanted, sizeof(wanted), "%.1000s.%.1000s", type, method);
		return strcmp(wanted, name->function) == 0 && name->file[0] == '\0';
	}
	(void)snprintf(wanted, sizeof(wanted), "[%.1000s.dll]", assembly);
	if (strcmp(wanted, name->file) != 0)
		return false;
	dotnet_readable_name(type, method, wanted, sizeof(wanted));
	(void)snprintf(text, sizeof(text), "%s", name->function);
	drop_arguments(wanted);
	drop_arguments(text);
	return strcmp(wanted, text) == 0;
}

/* ---- what is read ---- */

static uint64_t word(struct target *t, uint64_t at)
{
	uint64_t v = 0;

	return interpreter_read(&t->memory, at, &v, sizeof(v)) == 0 ? v : 0;
}

static void show(struct target *t, const char *what, const char *line,
		 const struct interpreter_name *name)
{
	if (t->n_wrong++ < SHOWN_MAX)
		printf("%s: %s|%s, not %s\n", what, name->function, name->file, line);
}

/* "START SIZE NAME", where numbers are hexadecimal. */
static void check_line(struct target *t, char *line)
{
	const struct interpreter_image *image = t->interpreter.image;
	struct interpreter_name name = {0};
	struct interpreter_frame f;
	uint64_t start, size;
	char *rest;
	int r;

	line[strcspn(line, "\n")] = '\0';
	start = strtoull(line, &rest, 16);
	size = strtoull(rest, &rest, 16);
	if (size == 0 || *rest != ' ')
		return;
	rest++;
	f = (struct interpreter_frame){.code = (start + size - 1) & ~7ULL, .at = start + size - 1};
	f.check = chain_check(word(t, f.code));
	t->recording = t->out && t->n_recorded < RECORDED_MAX;
	r = interpreter_ops_of(image->language)
		    ->name_frame(image, t->interpreter.bias, &t->memory, &f, &name);
	if (t->recording && r == 0)
		fprintf(t->out, "frame %llx %x %llx %s|%s\n", (unsigned long long)f.code, f.check,
			(unsigned long long)f.at, name.function, name.file);
	t->n_recorded += t->recording;
	t->recording = false;
	t->n++;
	t->n_named += r == 0;
	if (strncmp(rest, "stub", 4) == 0) {
		t->n_stubs++;
		if (r == 0 && name.function[0] != '[')
			show(t, "a stub", rest, &name);
	} else if (r < 0) {
		show(t, strerror(-r), rest, &name);
	} else if (!is_expected(rest, &name)) {
		show(t, "another name", rest, &name);
	}
}

static int check_map(struct target *t, const char *path)
{
	AUTO_FREE char *line = NULL;
	uint64_t started_ns = clock_thread_cpu_ns();
	FILE *f = fopen(path, "re");
	size_t cap = 0;

	if (!f)
		return 1;
	t->n_reads = 0;
	while (getline(&line, &cap, f) > 0)
		check_line(t, line);
	fclose(f);
	printf("%u addresses, of these %u in stubs; %u have a name, %u a wrong one or none; "
	       "%.0f reads and %.1f us each\n",
	       t->n, t->n_stubs, t->n_named, t->n_wrong, (double)t->n_reads / (t->n + !t->n),
	       (double)(clock_thread_cpu_ns() - started_ns) / 1e3 / (t->n + !t->n));
	return t->n == t->n_stubs || t->n_wrong > 0;
}

/* What is read of a process when the runtime's library is seen for the first time. */
static void record_file(struct target *t, const char *release)
{
	struct interpreter_image image = *t->interpreter.image;

	fprintf(t->out, "file %s %llx %llx\nbias %llx\n", release,
		(unsigned long long)image.dotnet.variables,
		(unsigned long long)image.dotnet.descriptor,
		(unsigned long long)t->interpreter.bias);
	t->recording = true;
	image.dotnet.complete = false;
	(void)interpreter_ops_of(image.language)->complete(&image, t->interpreter.bias, &t->memory);
	t->recording = false;
}

/* As a sample describes it. */
static struct process_snapshot *snapshot(struct process_table *processes, pid_t pid)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, pid);
	struct process_seen seen = {.pid = pid};
	struct process_snapshot *s;
	struct proc_stat stat;

	if (procfs_read_stat(fd, &stat) < 0)
		return NULL;
	seen.comm = stat.comm;
	seen.start_boottime_ns = stat.start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	return process_table_get(processes, &seen, clock_monotonic_ns(), &s) == 0 ? s : NULL;
}

static int open_memory(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int check(struct process_table *processes, pid_t pid, char **args)
{
	AUTO_CLOSE int memory_fd = open_memory(pid);
	struct process_snapshot *s = snapshot(processes, pid);
	static struct target t;
	struct interpreter_files *files;
	struct process_memory *memory;
	int r;

	t.memory_fd = memory_fd;
	t.memory = (struct interpreter_memory){read_process, &t};
	if (!s || process_memory_new(&memory, "/proc") < 0 ||
	    interpreter_files_new(&files, NULL, memory) < 0)
		return 1;
	r = interpreter_files_find(files, s, &t.interpreter);
	if (r < 0)
		printf("no runtime that is known: %s\n", strerror(-r));
	if (r == 0 && args[1] && args[2]) {
		t.out = fopen(args[1], "we");
		if (t.out)
			record_file(&t, args[2]);
	}
	if (r == 0)
		r = check_map(&t, args[0]);
	if (t.out)
		fclose(t.out);
	interpreter_files_free(files);
	process_memory_free(memory);
	return r != 0;
}

int main(int argc, char **argv)
{
	const struct process_table_config cfg = {0};
	struct process_table *processes;
	struct err err = {""};
	uint64_t pid;
	int r;

	if (argc < 3 || parse_u64(argv[1], strlen(argv[1]), 1, INT32_MAX, &pid) < 0)
		return 2;
	r = process_table_new(&processes, &cfg, &err);
	if (r < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	r = check(processes, (pid_t)pid, argv + 2);
	process_table_free(processes);
	return r;
}
