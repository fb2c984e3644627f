/*
 * check_python_frames PID [FILE]: prints the Python frames of all threads of a process, as the
 * agent reads them: "function|file|line|start line", the innermost first, and "--" behind each
 * thread. With FILE, it also writes what it has read for the first frames of each code object into
 * it, for tests without an interpreter (test/lib/python_recording.h).
 *
 * Takes what the agent finds in the files of the process (interpreter_files.h) and walks as the BPF
 * program does, in the memory of the process. Its threads are stopped for a moment. Needs root.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/python_recording.h"

#define FRAMES_MAX 4096u
#define RECORDED_MAX 24u     /* frames of different code objects */
#define RECORDED_BYTES 8192u /* that are read for one frame: tables of lines may be large */

/* A frame is recorded if not too much was read for it: its lines are kept until that is known. */
struct recording {
	FILE *out; /* NULL: nothing is recorded */
	char *lines;
	size_t n_lines_bytes;
	FILE *pending; /* to lines, while a frame is named */
	size_t n_read;
	uint64_t codes[RECORDED_MAX];
	unsigned n_codes;
};

struct target {
	pid_t pid;
	int memory_fd;
	struct recording *recording;
	const struct interpreter_process *interpreter;
	struct chain_layout layout;
	struct interpreter_memory memory;
};

static void record(struct recording *r, uint64_t at, const uint8_t *bytes, size_t n)
{
	r->n_read += n;
	fprintf(r->pending, "memory %llx ", (unsigned long long)at);
	for (size_t i = 0; i < n; i++)
		fprintf(r->pending, "%02x", bytes[i]);
	fprintf(r->pending, "\n");
}

static int read_process(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct target *t = ctx;

	if (pread(t->memory_fd, to, n, (off_t)at) != (ssize_t)n)
		return -EFAULT;
	if (t->recording->pending)
		record(t->recording, at, to, n);
	return 0;
}

static uint64_t word(const struct target *t, uint64_t at)
{
	uint64_t v = 0;

	return interpreter_read(&t->memory, at, &v, sizeof(v)) == 0 ? v : 0;
}

static uint64_t thread_pointer(pid_t tid)
{
	uint64_t ret = 0;
#ifdef __x86_64__
	struct user_regs_struct regs;
#endif

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return 0;
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	(void)waitpid(tid, NULL, __WALL);
#ifdef __x86_64__
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0)
		ret = regs.fs_base;
#endif
	(void)ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return ret;
}

static uint64_t key_value(const struct target *t, const struct chain_path *p, uint64_t tp)
{
	const struct chain_table *table = &p->table;
	uint64_t key = word(t, p->word), block, entries = 1ULL << table->block_shift;

	if (table->key_shift == 32 && (uint32_t)key == 0)
		return 0;
	key = key >> table->key_shift & UINT32_MAX;
	block = word(t, tp + (uint64_t)(int64_t)table->blocks + key / entries * 8);
	return block + key % entries * table->stride + table->value;
}

/* The address of the first word that is to be read. */
static bool origin_of(const struct target *t, const struct chain_path *p, uint64_t tp,
		      uint64_t *ret)
{
	switch ((enum chain_origin)p->origin) {
	case CHAIN_NONE:
	case CHAIN_CALL: /* none of CPython's */
		return false;
	case CHAIN_THREAD:
		*ret = tp;
		return true;
	case CHAIN_FIXED:
		*ret = 0;
		return true;
	case CHAIN_THREAD_AT:
		*ret = tp + word(t, p->word);
		return true;
	case CHAIN_KEY:
		*ret = word(t, key_value(t, p, tp));
		return *ret != 0;
	}
	return false;
}

static uint64_t first_frame(const struct target *t, uint64_t tp)
{
	for (size_t i = 0; i < CHAIN_PATHS; i++) {
		const struct chain_path *p = &t->layout.paths[i];
		uint64_t at;
		bool found = origin_of(t, p, tp, &at);

		for (size_t j = 0; found && j < p->n_steps; j++) {
			at = word(t, at + (uint64_t)p->steps[j]);
			found = at != 0;
		}
		if (found)
			return at;
	}
	return 0;
}

static bool begin_frame(struct recording *r, uint64_t code)
{
	if (!r->out || r->n_codes == RECORDED_MAX)
		return false;
	for (unsigned i = 0; i < r->n_codes; i++) {
		if (r->codes[i] == code)
			return false;
	}
	r->n_read = 0;
	r->lines = NULL;
	r->pending = open_memstream(&r->lines, &r->n_lines_bytes);
	return r->pending;
}

static void end_frame(struct recording *r, const struct interpreter_frame *f,
		      const struct interpreter_name *name)
{
	fclose(r->pending);
	r->pending = NULL;
	if (r->n_read <= RECORDED_BYTES && name) {
		r->codes[r->n_codes++] = f->code;
		fprintf(r->out, "%sframe %llx %x %llx %s|%s|%u|%u\n", r->lines,
			(unsigned long long)f->code, f->check, (unsigned long long)f->at,
			name->function, name->file, name->line, name->start_line);
	}
	free(r->lines);
}

static void record_layout(const struct target *t)
{
	const struct interpreter_image *image = t->interpreter->image;
	const struct python_layout *l = image ? &image->python : NULL;

	if (!t->recording->out || !l)
		return;
	fprintf(t->recording->out, "layout");
#define WRITE(member) \
	fprintf(t->recording->out, " " #member "=%llu", (unsigned long long)l->member);
	PYTHON_RECORDING_LAYOUT(WRITE)
#undef WRITE
	fprintf(t->recording->out, "\nbias %llx\n", (unsigned long long)t->interpreter->bias);
}

static void print_frame(const struct target *t, uint64_t at)
{
	const struct chain_frames *l = &t->layout.frames;
	const struct interpreter_image *image = t->interpreter->image;
	struct interpreter_name name;
	struct interpreter_frame f = {
		.code = word(t, at + l->code) & ~UINT64_C(7),
		.at = word(t, at + l->at) & l->at_mask,
	};
	bool recorded;
	int r;

	if (l->end_is == CHAIN_END_BETWEEN && (word(t, at + l->end) & l->end_mask) >= l->end_value)
		return;
	f.check = chain_check(word(t, f.code + l->check));
	recorded = begin_frame(t->recording, f.code);
	r = interpreter_ops_of(image->language)
		    ->name_frame(image, t->interpreter->bias, &t->memory, &f, &name);
	if (recorded)
		end_frame(t->recording, &f, r == 0 ? &name : NULL);
	if (r == 0)
		printf("%s|%s|%u|%u\n", name.function, name.file, name.line, name.start_line);
	else if (r == -ENODATA)
		fprintf(stderr, "a frame that the interpreter has made\n");
	else
		printf("error %d\n", r);
}

static void print_thread(const struct target *t, pid_t tid)
{
	uint64_t tp = thread_pointer(tid), at = first_frame(t, tp);

	for (unsigned n = 0; at != 0 && n < FRAMES_MAX; n++) {
		print_frame(t, at);
		at = word(t, at + (uint64_t)(int64_t)t->layout.frames.next);
	}
	printf("--\n");
}

static int print_threads(const struct target *t)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	d = opendir(path);
	if (!d)
		return 1;
	while ((e = readdir(d))) {
		uint64_t tid;

		if (parse_u64(e->d_name, strlen(e->d_name), 1, INT32_MAX, &tid) == 0)
			print_thread(t, (pid_t)tid);
	}
	closedir(d);
	return 0;
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

static int check(struct process_table *processes, pid_t pid, struct recording *recording)
{
	AUTO_CLOSE int memory_fd = open_memory(pid);
	struct process_snapshot *s = snapshot(processes, pid);
	struct target t = {.pid = pid, .memory = {read_process, &t}, .recording = recording};
	struct interpreter_process found = {0};
	struct interpreter_files *files;
	int r;

	if (!s || interpreter_files_new(&files, NULL, NULL) < 0)
		return 1;
	r = interpreter_files_layout(files, s, &t.layout);
	if (r == 0)
		r = interpreter_files_find(files, s, &found);
	t.interpreter = &found;
	t.memory_fd = memory_fd;
	if (r < 0)
		fprintf(stderr, "no layout: %s\n", strerror(-r));
	else
		record_layout(&t);
	if (r == 0)
		r = print_threads(&t);
	interpreter_files_free(files);
	return r != 0;
}

int main(int argc, char **argv)
{
	const struct process_table_config cfg = {0};
	struct recording recording = {NULL};
	struct process_table *processes;
	struct err err = {""};
	uint64_t pid;
	int r;

	if (argc < 2 || argc > 3 || parse_u64(argv[1], strlen(argv[1]), 1, INT32_MAX, &pid) < 0)
		return 2;
	r = process_table_new(&processes, &cfg, &err);
	if (r < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (argc == 3)
		recording.out = fopen(argv[2], "we");
	r = check(processes, (pid_t)pid, &recording);
	if (recording.out)
		fclose(recording.out);
	process_table_free(processes);
	return r;
}
