/*
 * The chain of ancestors is followed up to init, or to the first ancestor that is remembered
 * with what it and its own ancestors say (struct ancestry). One that has executed another
 * program since, or whose parent has exited, which has detached it from its session, is looked at
 * again, and so is every one after ten seconds, for what has happened above it. A process's
 * parent is always looked at, so the common case costs two readings of stat.
 *
 * Memories are in a table of fixed size, where a new one takes the place of the one with the
 * same remainder: losing one costs another reading, nothing else.
 */
#include "node-agent/workload/process_namer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/text/parse.h"
#include "common/thread/deadline_call.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/name_rules.h"
#include "node-agent/workload/program_place.h"
#include "node-agent/workload/unmanaged_name.h"

#define READ_TIMEOUT_NS (200 * NS_PER_MS) /* sampling waits; the ring holds two seconds */
#define HUNG_PAUSE_NS (60 * NS_PER_S)
#define MAX_ANCESTORS 16
#define REMEMBERED 256
#define REMEMBERED_NS (10 * NS_PER_S)
#define USERS 64
#define USERS_KEPT_NS (60 * NS_PER_S)
#define USER_NAME_BYTES 64
#define USERS_MAX_BYTES ((size_t)1024 * 1024)
#define USERS_FILE "../1/root/etc/passwd" /* the host's, if we are in a container */
#define USERS_KEY (UINT64_C(1) << 63)     /* no pid */
#define NO_LOGIN UINT32_MAX

/* A process with its ancestors. */
struct memory {
	pid_t pid; /* 0: unused */
	struct proc_stat stat;
	uint64_t until_ns;
	struct ancestry ancestry;
};

struct user {
	uint64_t until_ns; /* 0: unused */
	uint32_t uid;
	char name[USER_NAME_BYTES];
};

struct process_namer {
	struct name_rules *rules; /* a reference; NULL: none */
	struct deadline_caller *caller;
	struct memory memories[REMEMBERED];
	struct user users[USERS];
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

/* ---- files that may not answer ---- */

struct read_job {
	struct deadline_job job; /* first */
	int result;
	int dir_fd;       /* owned */
	const char *path; /* a constant */
	struct buf text;  /* as much as fits its limit */
};

static void read_text(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	job->result = fs_read_at(job->dir_fd, job->path, &job->text);
}

static void free_read_job(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	closep(&job->dir_fd);
	buf_fini(&job->text);
	free(job);
}

/*
 * Reads the beginning of a file into out, which stays empty if it cannot be read. Returns 0 or
 * -ENOMEM.
 */
static int read_in_time(struct process_namer *n, int dir_fd, const char *path, uint64_t key,
			struct buf *out)
{
	struct read_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){.run = read_text, .free = free_read_job, .key = key};
	job->path = path;
	buf_init(&job->text, out->limit);
	/* its own descriptor: the job may outlive the caller's */
	job->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	r = deadline_call(n->caller, &job->job);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = job->result;
	if (r == 0 || r == -EFBIG) {
		buf_fini(out);
		*out = job->text;
		buf_init(&job->text, 0);
	}
	free_read_job(&job->job);
	return r == -ENOMEM ? r : 0;
}

/* ---- programs ---- */

/* key tells apart the processes whose command line has hung. Returns 0 or -ENOMEM. */
static int read_program(struct process_namer *n, const struct process_to_name *p, uint64_t key,
			struct program *ret)
{
	CLEANUP(buf_fini) struct buf text;
	AUTO_FREE char *cwd = NULL;
	int r = 0;

	buf_init(&text, PROGRAM_COMMAND_LINE_BYTES);
	if (program_is_interpreter(p->exe))
		r = read_in_time(n, p->proc_fd, "cmdline", key, &text);
	program_parse(p->exe, p->comm, text.data, text.len, ret);
	if (r == 0 && program_needs_place(ret) &&
	    procfs_read_link(p->proc_fd, "cwd", &cwd) == -ENOMEM)
		r = -ENOMEM;
	program_place(ret, cwd ?: "");
	return r;
}

/* ---- ancestors ---- */

struct ancestor {
	int fd; /* owned; -1: remembered, or none */
	pid_t pid;
	struct proc_stat stat;
};

static struct memory *memory_of(struct process_namer *n, pid_t pid)
{
	return &n->memories[(unsigned)pid % REMEMBERED];
}

/* Its name changes when it executes another program, its parent when it is detached. */
static bool is_memory_of(const struct memory *m, const struct ancestor *a)
{
	return m->pid == a->pid && m->stat.start_time == a->stat.start_time &&
	       m->stat.parent == a->stat.parent && strcmp(m->stat.comm, a->stat.comm) == 0 &&
	       clock_monotonic_ns() < m->until_ns;
}

/* Adds the ancestor to what its own ancestors say, and remembers the result. */
static int add_ancestor(struct process_namer *n, const struct ancestor *a, struct ancestry *ret)
{
	struct process_to_name p = {.proc_fd = a->fd, .exe = "", .comm = a->stat.comm};
	AUTO_FREE char *exe = NULL;
	struct program program;
	int r;

	r = procfs_read_link(a->fd, "exe", &exe);
	if (r == 0)
		p.exe = exe;
	if (r != -ENOMEM)
		r = read_program(n, &p, a->stat.start_time, &program);
	if (r < 0)
		return r;
	ancestry_add(ret, &program, a->stat.terminal);
	*memory_of(n, a->pid) =
		(struct memory){a->pid, a->stat, clock_monotonic_ns() + REMEMBERED_NS, *ret};
	return 0;
}

/*
 * What the ancestors of a process say, by the pid of its parent. Init says nothing. Returns 0 or
 * -ENOMEM.
 */
static int read_ancestry(struct process_namer *n, int root_fd, pid_t parent, struct ancestry *ret)
{
	struct ancestor chain[MAX_ANCESTORS];
	size_t len = 0;
	pid_t pid = parent;
	int r = 0;

	*ret = (struct ancestry){0};
	while (len < MAX_ANCESTORS && pid > 1) {
		struct ancestor *a = &chain[len];

		a->pid = pid;
		a->fd = procfs_open_process(root_fd, pid);
		if (a->fd < 0)
			break;
		if (procfs_read_stat(a->fd, &a->stat) < 0) {
			closep(&a->fd);
			break;
		}
		if (is_memory_of(memory_of(n, pid), a)) {
			*ret = memory_of(n, pid)->ancestry;
			closep(&a->fd);
			break;
		}
		pid = a->stat.parent;
		len++;
	}
	while (len-- > 0) {
		if (r == 0)
			r = add_ancestor(n, &chain[len], ret);
		closep(&chain[len].fd);
	}
	return r;
}

/* ---- users ---- */

/* "alice:x:1000:1000:…": returns whether the line is that user's. */
static bool is_users_line(const char *line, size_t len, uint32_t uid, size_t *ret_name_len)
{
	const char *end = line + len, *name_end, *number, *number_end;
	uint64_t value;

	name_end = memchr(line, ':', len);
	number = name_end ? memchr(name_end + 1, ':', (size_t)(end - name_end - 1)) : NULL;
	number_end = number ? memchr(number + 1, ':', (size_t)(end - number - 1)) : NULL;
	if (!number_end || name_end == line ||
	    parse_u64(number + 1, (size_t)(number_end - number - 1), 0, UINT32_MAX, &value) < 0)
		return false;
	*ret_name_len = (size_t)(name_end - line);
	return value == uid;
}

static void find_user(const struct buf *text, struct user *u)
{
	const char *p = text->data, *end = p + text->len;

	snprintf(u->name, sizeof(u->name), "%u", u->uid);
	while (p && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = newline ? (size_t)(newline - p) : (size_t)(end - p), name_len;

		if (is_users_line(p, len, u->uid, &name_len) && name_len < sizeof(u->name)) {
			snprintf(u->name, sizeof(u->name), "%.*s", (int)name_len, p);
			return;
		}
		p += len + 1;
	}
}

/*
 * Users of directories such as LDAP have numbers: to ask for their names could take seconds.
 * Returns 0 and a name that is valid until the next call, or -ENOMEM.
 */
static int user_name(struct process_namer *n, int proc_fd, uint32_t uid, const char **ret)
{
	struct user *u = &n->users[uid % USERS];
	uint64_t now_ns = clock_monotonic_ns();
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, USERS_MAX_BYTES);
	*ret = u->name;
	if (u->until_ns > now_ns && u->uid == uid)
		return 0;
	if (read_in_time(n, proc_fd, USERS_FILE, USERS_KEY, &text) < 0)
		return -ENOMEM;
	u->uid = uid;
	u->until_ns = now_ns + USERS_KEPT_NS;
	find_user(&text, u);
	return 0;
}

/* Who has logged in, even if they have become another user since; else whose process it is. */
static uint32_t login_user(const struct process_to_name *p)
{
	CLEANUP(buf_fini) struct buf text;
	struct stat st;
	uint64_t uid;

	buf_init(&text, 64);
	if (p->cgroup->session)
		return p->cgroup->session_uid;
	if (fs_read_at(p->proc_fd, "loginuid", &text) == 0 && text.len > 0 &&
	    parse_u64(text.data, text.len, 0, NO_LOGIN - 1, &uid) == 0)
		return (uint32_t)uid;
	return fstatat(p->proc_fd, "", &st, AT_EMPTY_PATH) == 0 ? st.st_uid : 0;
}

/* ---- names ---- */

static bool apply_rules(const struct process_namer *n, const struct process_to_name *p,
			const struct program *program, char *ret, size_t size)
{
	char subject[NAME_RULE_SUBJECT_BYTES];
	bool script = program->kind == PROGRAM_SCRIPT;

	if (!name_rules_any(n->rules))
		return false;
	snprintf(subject, sizeof(subject), "%s%s%s", p->exe, script ? " " : "",
		 script ? program->name : "");
	return name_rules_apply(n->rules, subject, ret, size);
}

int process_namer_name(struct process_namer *n, const struct process_to_name *p, char *ret,
		       size_t size)
{
	AUTO_CLOSE int root_fd = openat(p->proc_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct program program = {.kind = PROGRAM_PLAIN};
	struct proc_stat st = {.parent = 0};
	struct ancestry above = {0};
	struct unmanaged_facts facts = {
		.exe = p->exe,
		.program = &program,
		.above = &above,
		.session = p->cgroup->session,
		.user = "",
	};
	int r = 0;

	if (p->stat)
		st = *p->stat;
	if (p->stat || procfs_read_stat(p->proc_fd, &st) == 0) {
		facts.terminal = st.terminal;
		if (root_fd >= 0)
			r = read_ancestry(n, root_fd, st.parent, &above);
	}
	if (r == 0)
		r = read_program(n, p, st.start_time, &program);
	if (r < 0 || apply_rules(n, p, &program, ret, size))
		return r;
	if (unmanaged_name_needs_user(&facts))
		r = user_name(n, p->proc_fd, login_user(p), &facts.user);
	unmanaged_name(&facts, ret, size);
	return r;
}

/*
 * Opens the process whose user is to be named: a running parent, else init if the cgroup says who
 * has logged in. Returns a descriptor or -ESRCH.
 */
static int open_for_user(const struct process_to_name *p, const struct parent_to_name *parent,
			 bool parent_runs)
{
	if (parent_runs)
		return procfs_open_process(parent->root_fd, parent->pid);
	return p->cgroup->session ? procfs_open_process(parent->root_fd, 1) : -ESRCH;
}

static int read_parent(const struct parent_to_name *parent, struct proc_stat *ret)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (parent->pid <= 0)
		return -ESRCH;
	fd = procfs_open_process(parent->root_fd, parent->pid);
	r = fd < 0 ? fd : procfs_read_stat(fd, ret);
	if (r < 0)
		return r;
	return ret->start_time == parent->start_time ? 0 : -ESRCH;
}

int process_namer_name_exited(struct process_namer *n, const struct process_to_name *p,
			      const struct parent_to_name *parent, char *ret, size_t size)
{
	const struct memory *m = memory_of(n, parent->pid);
	AUTO_CLOSE int user_fd = -1;
	struct process_to_name of_user = *p;
	struct ancestry above = {0};
	struct program program;
	struct proc_stat st;
	struct unmanaged_facts facts = {
		.exe = p->exe,
		.program = &program,
		.above = &above,
		.session = p->cgroup->session,
		.user = "",
	};
	bool runs = read_parent(parent, &st) == 0;
	int r = 0;

	program_parse(p->exe, p->comm, NULL, 0, &program);
	program_place(&program, "");
	if (apply_rules(n, p, &program, ret, size))
		return 0;
	facts.terminal = runs && st.terminal;
	if (runs)
		r = read_ancestry(n, parent->root_fd, parent->pid, &above);
	else if (parent->pid > 0 && m->pid == parent->pid &&
		 m->stat.start_time == parent->start_time)
		above = m->ancestry;
	if (r == 0 && unmanaged_name_needs_user(&facts)) {
		user_fd = of_user.proc_fd = open_for_user(p, parent, runs);
		if (user_fd >= 0) {
			r = user_name(n, user_fd, login_user(&of_user), &facts.user);
		} else { /* a session of nobody is no name */
			above = (struct ancestry){0};
			facts.session = facts.terminal = false;
		}
	}
	unmanaged_name(&facts, ret, size);
	return r;
}

int process_namer_gvisor_id(struct process_namer *n, int proc_fd, char *ret)
{
	CLEANUP(buf_fini) struct buf text;
	struct proc_stat st;
	int r;

	buf_init(&text, PROGRAM_COMMAND_LINE_BYTES);
	/* "runsc-sandbox", or "exe" where it has executed itself */
	if (procfs_read_stat(proc_fd, &st) < 0 ||
	    (strncmp(st.comm, "runsc", 5) != 0 && strcmp(st.comm, "exe") != 0))
		return 0;
	r = read_in_time(n, proc_fd, "cmdline", st.start_time, &text);
	(void)program_gvisor_id(text.data, text.len, ret, CGROUP_ID_BYTES);
	return r;
}
