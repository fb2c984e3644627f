#include "node-agent/workload/process_namer.h"

#include <errno.h>
#include <fcntl.h>

#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/thread/deadline_call.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/name_rules.h"
#include "node-agent/workload/program_place.h"

#define READ_TIMEOUT_NS (200 * NS_PER_MS) /* sampling waits; the ring holds two seconds */
#define HUNG_PAUSE_NS (60 * NS_PER_S)

struct process_namer {
	struct name_rules *rules; /* a reference; NULL: none */
	struct deadline_caller *caller;
};

int process_namer_new(struct process_namer **ret, struct name_rules *rules)
{
	CLEANUP(process_namer_freep) struct process_namer *n = calloc(1, sizeof(*n));

	if (!n || deadline_caller_new(&n->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS) < 0)
		return -ENOMEM;
	n->rules = rules ? name_rules_ref(rules) : NULL;
	*ret = TAKE_PTR(n);
	return 0;
}

void process_namer_free(struct process_namer *n)
{
	if (!n)
		return;
	deadline_caller_free(n->caller);
	name_rules_unref(n->rules);
	free(n);
}

struct read_job {
	struct deadline_job job; /* first */
	int result;
	int dir_fd;      /* owned */
	struct buf text; /* as much as fits its limit */
};

static void read_text(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	job->result = fs_read_at(job->dir_fd, "cmdline", &job->text);
}

static void free_read_job(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	closep(&job->dir_fd);
	buf_fini(&job->text);
	free(job);
}

/*
 * Reads the beginning of a command line into out, which stays empty if it cannot be read; a process
 * whose command line has hung is left out by its start time. Returns 0 or -ENOMEM.
 */
static int read_command_line(struct process_namer *n, int proc_fd, uint64_t start_time,
			     struct buf *out)
{
	struct read_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job =
		(struct deadline_job){.run = read_text, .free = free_read_job, .key = start_time};
	buf_init(&job->text, PROGRAM_COMMAND_LINE_BYTES);
	/* its own descriptor: the job may outlive the caller's */
	job->dir_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	r = deadline_call(n->caller, &job->job);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = job->result;
	if (r == 0 || r == -EFBIG) {
		*out = job->text;
		buf_init(&job->text, 0);
	}
	free_read_job(&job->job);
	return r == -ENOMEM ? r : 0;
}

/* Finds the folder, if the program needs one. Returns 0 or -ENOMEM. */
static int read_place(const struct process_to_name *p, struct program *ret)
{
	AUTO_FREE char *cwd = NULL;

	if (p->proc_fd >= 0 && program_needs_place(ret) &&
	    procfs_read_link(p->proc_fd, "cwd", &cwd) == -ENOMEM)
		return -ENOMEM;
	program_place(ret, cwd ?: "");
	return 0;
}

static int read_program(struct process_namer *n, const struct process_to_name *p,
			struct program *ret)
{
	struct proc_stat st = {.parent = 0};
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 0);
	if (p->proc_fd >= 0 && program_is_interpreter(p->exe) &&
	    procfs_read_stat(p->proc_fd, &st) == 0 &&
	    read_command_line(n, p->proc_fd, st.start_time, &text) < 0)
		return -ENOMEM;
	program_parse(p->exe, p->comm, text.data, text.len, ret);
	return read_place(p, ret);
}

static bool apply_rules(const struct process_namer *n, const struct process_to_name *p,
			const struct program *program, char *ret, size_t size)
{
	char subject[NAME_RULE_SUBJECT_BYTES];

	if (!name_rules_any(n->rules))
		return false;
	snprintf(subject, sizeof(subject), "%s%s%s", p->exe, program->script ? " " : "",
		 program->script ? program->name : "");
	return name_rules_apply(n->rules, subject, ret, size);
}

int process_namer_name(struct process_namer *n, const struct process_to_name *p, char *ret,
		       size_t size)
{
	char label[PROGRAM_LABEL_BYTES];
	struct program program;
	int r = read_program(n, p, &program);

	if (r < 0 || apply_rules(n, p, &program, ret, size))
		return r;
	program_label(&program, label, sizeof(label));
	snprintf(ret, size, "/process/%s", label);
	return 0;
}

int process_namer_gvisor_id(struct process_namer *n, int proc_fd, char *ret)
{
	CLEANUP(buf_fini) struct buf text;
	struct proc_stat st;
	int r;

	buf_init(&text, 0);
	/* "runsc-sandbox", or "exe" where it has executed itself */
	if (procfs_read_stat(proc_fd, &st) < 0 ||
	    (strncmp(st.comm, "runsc", 5) != 0 && strcmp(st.comm, "exe") != 0))
		return 0;
	r = read_command_line(n, proc_fd, st.start_time, &text);
	if (r == 0)
		(void)program_gvisor_id(text.data, text.len, ret, CGROUP_ID_BYTES);
	return r;
}
