/*
 * The file belongs to the process that is profiled, so it may be anything (jit_files.h): it must be
 * a regular file of the process's user or of root. Its file system may be a FUSE server that never
 * answers: all of that runs on a thread with a deadline (deadline_call.h), and a process whose file
 * hangs is not asked again. All files have one key there, so at most one thread is stuck at a time.
 *
 * A process that has exited has no root any more. Its samples are named by what was held open when
 * its generated code was first seen.
 *
 * Compilers append to the file, so the next poll reads from where the previous one ended. jcmd
 * writes the file anew: then its inode, its size, or the bytes before that place are others, and it
 * is read from the beginning. Of a file larger than FILE_MAX_BYTES the newest part is read.
 *
 * A last line without a newline is either a file that ends so, or one that is being written: a
 * writer with a buffer (stdio) has written whole blocks, and whatever else is incomplete does not
 * stay so for long. So the line is taken if the file has not changed for SETTLED_NS, or its process
 * has exited, and its size is no multiple of BLOCK_BYTES. Should the line be continued nonetheless,
 * the whole line replaces it.
 *
 * A jitdump is read from its beginning on, DUMP_PIECES at a time, as what is in it begins where
 * the previous record ends. It is the same file as long as it has the same header. The map of a
 * process that has one is asked for what is not in the dump only: some compilers write both.
 *
 * Addresses are named when the cycle has ended. Code that has moved since its samples were taken
 * has the name of what is there now; perf(1) does the same.
 */
#include "node-agent/symbol/perf_map_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "node-agent/files/jit_files.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/symbol/dump_names.h"
#include "node-agent/symbol/perf_map.h"
#include "node-agent/symbol/symbol_metrics.h"

#define FILE_MAX_BYTES ((uint64_t)32 * 1024 * 1024)
#define PIECE_BYTES ((size_t)1024 * 1024)
#define DUMP_PIECES 256u
#define SETTLED_NS (2 * NS_PER_S)
#define BLOCK_BYTES 4096 /* the smallest that stdio writes at once */
#define MARK_BYTES 64u   /* to recognise the file */
#define PROCESSES_MAX 1024u
#define POLL_MIN_NS (5 * NS_PER_S)
#define MISSING_MAX_NS (600 * NS_PER_S) /* a process without a map is polled once in so long */
#define CALL_KEY (UINT64_C(1) << 62)    /* no device and no pid */

struct process_key {
	uint64_t start_time;
	uint64_t pid;
};

/* Where a file was read to. */
struct place {
	uint64_t dev, ino;
	uint64_t offset;
	uint64_t mark_at; /* of a map before offset, of a dump 0 */
	size_t mark_len;
	char mark[MARK_BYTES]; /* what was there */
};

/* A file with names. */
struct source {
	bool is_dump;
	struct perf_map *map;    /* NULL: none was read */
	struct dump_names *dump; /* likewise */
	struct place place;
	uint64_t cycle;     /* in which it was last polled, or not, as it was not due */
	uint64_t poll_ns;   /* not polled before */
	unsigned n_missing; /* polls in a row that found none */
	bool hangs;
};

struct process_map {
	UT_hash_handle hh; /* by key, in the order of use */
	struct process_key key;
	struct jit_files *held; /* a reference; NULL: nothing */
	struct source dump, map;
	uint64_t cycle; /* of its last lookup */
};

struct perf_map_files {
	const char *proc_root;
	struct deadline_caller *caller;
	size_t max_bytes;
	struct process_map *table;
	uint64_t cycle;
};

int perf_map_files_new(struct perf_map_files **ret, const char *proc_root,
		       struct deadline_caller *caller, size_t max_bytes)
{
	struct perf_map_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->proc_root = proc_root;
	f->caller = caller;
	f->max_bytes = max_bytes;
	f->cycle = 1;
	*ret = f;
	return 0;
}

static void forget(struct source *s)
{
	perf_map_free(s->map);
	dump_names_free(s->dump);
	s->map = NULL;
	s->dump = NULL;
	s->place = (struct place){0};
}

static size_t bytes_of(const struct source *s)
{
	return (s->map ? perf_map_bytes(s->map) : 0) + (s->dump ? dump_names_bytes(s->dump) : 0);
}

static void free_process(struct process_map *p)
{
	forget(&p->map);
	forget(&p->dump);
	jit_files_unref(p->held);
	table_free(p);
}

static void drop(struct perf_map_files *f, struct process_map *p)
{
	HASH_DEL(f->table, p);
	free_process(p);
}

void perf_map_files_free(struct perf_map_files *f)
{
	if (!f)
		return;
	for (struct process_map *p = f->table, *next; p; p = next) {
		next = p->hh.next;
		drop(f, p);
	}
	free(f);
}

size_t perf_map_files_bytes(const struct perf_map_files *f)
{
	size_t n = 0;

	for (const struct process_map *p = f->table; p; p = p->hh.next)
		n += sizeof(*p) + bytes_of(&p->map) + bytes_of(&p->dump);
	return n;
}

size_t perf_map_files_count(const struct perf_map_files *f)
{
	size_t n = 0;

	for (const struct process_map *p = f->table; p; p = p->hh.next)
		n += p->map.map || p->dump.dump;
	return n;
}

/* ---- reading a piece, on the thread with the deadline ---- */

struct read_job {
	struct deadline_job job;
	int root_fd; /* of /proc; its own */
	struct process_key key;
	struct jit_files *held; /* a reference; NULL: nothing */
	bool is_dump;
	struct place place; /* where to begin; afterwards, where it ended */
	int result;
	bool has_exited;
	bool is_anew;    /* text is not what follows the place, but the beginning of the file */
	bool is_inside;  /* text begins in the middle of a line */
	bool is_settled; /* text is the end of a file that nobody is writing */
	uint64_t size;   /* of the file */
	size_t len;      /* of text */
	char text[PIECE_BYTES];
};

static void free_job(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	closep(&job->root_fd);
	jit_files_unref(job->held);
	free(job);
}

/* Returns the descriptor of /proc/<pid> if it is still that process, or -ESRCH. */
static int open_process(int root_fd, const struct process_key *key)
{
	struct proc_stat stat;
	int fd = procfs_open_process(root_fd, (pid_t)key->pid);

	if (fd >= 0 && procfs_read_stat(fd, &stat) == 0 && !stat.ended &&
	    stat.start_time == key->start_time)
		return fd;
	if (fd >= 0)
		close(fd);
	return -ESRCH;
}

/* Returns a descriptor, -ESRCH if the process has exited and nothing of it is held, or -errno. */
static int open_map(struct read_job *job, struct stat *st)
{
	CLEANUP(jit_files_unrefp) struct jit_files *found = NULL;
	AUTO_CLOSE int proc_fd = open_process(job->root_fd, &job->key);
	int r = proc_fd < 0 ? -ESRCH : jit_files_find(&found, proc_fd);

	job->has_exited = proc_fd < 0;
	if (r == 0)
		r = jit_files_open_map(found, st);
	if (job->held && (r == -ESRCH || r == -ENOENT))
		r = jit_files_open_map(job->held, st);
	return r;
}

static int open_dump(const struct read_job *job, struct stat *st)
{
	AUTO_CLOSE int fd = fcntl(jit_files_dump(job->held)->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 || fstat(fd, st) < 0 ? -errno : TAKE_FD(fd);
}

/* Whether the file is the one that was read to that place, and only longer now. */
static bool is_continued(const struct place *place, const struct stat *st, int fd)
{
	char mark[MARK_BYTES];

	return place->dev == st->st_dev && place->ino == st->st_ino &&
	       place->offset <= (uint64_t)st->st_size &&
	       pread(fd, mark, place->mark_len, (off_t)place->mark_at) ==
		       (ssize_t)place->mark_len &&
	       memcmp(mark, place->mark, place->mark_len) == 0;
}

static void set_mark(struct place *place, const char *text, size_t len, uint64_t at)
{
	place->mark_at = at;
	place->mark_len = len;
	memcpy(place->mark, text, len);
}

static int read_piece(struct read_job *job, int fd)
{
	struct place *place = &job->place;
	size_t mark;
	ssize_t n;

	if (!job->is_dump && job->size - place->offset > FILE_MAX_BYTES) {
		place->offset = job->size - FILE_MAX_BYTES;
		job->is_inside = true;
	}
	n = pread(fd, job->text, PIECE_BYTES, (off_t)place->offset);
	if (n < 0)
		return -errno;
	job->len = (size_t)n;
	mark = job->len < MARK_BYTES ? job->len : MARK_BYTES;
	if (job->is_dump && place->offset == 0)
		set_mark(place, job->text, mark, 0);
	place->offset += job->len;
	if (!job->is_dump && mark > 0)
		set_mark(place, job->text + job->len - mark, mark, place->offset - mark);
	return 0;
}

/* The time of a file in the future, by another machine's clock, says nothing. */
static bool is_settled(const struct stat *st, bool has_exited)
{
	int64_t now_ns = (int64_t)clock_realtime_ns();
	int64_t changed_ns = st->st_mtim.tv_sec * (int64_t)NS_PER_S + st->st_mtim.tv_nsec;

	return st->st_size % BLOCK_BYTES != 0 &&
	       (has_exited || now_ns - changed_ns > (int64_t)SETTLED_NS);
}

static int read_file(struct read_job *job)
{
	struct stat st;
	AUTO_CLOSE int fd = job->is_dump ? open_dump(job, &st) : open_map(job, &st);
	int r;

	if (fd < 0)
		return fd;
	if (!is_continued(&job->place, &st, fd)) {
		job->is_anew = true;
		job->place = (struct place){.dev = st.st_dev, .ino = st.st_ino};
	}
	job->size = (uint64_t)st.st_size;
	r = read_piece(job, fd);
	job->is_settled = job->place.offset == job->size && is_settled(&st, job->has_exited);
	return r;
}

static void run_job(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	job->result = read_file(job);
}

/* ---- polling ---- */

static enum symbol_metric outcome_of(int r)
{
	switch (r) {
	case 0:
		return SYMBOL_METRIC_PERF_MAP_READ;
	case -ENOENT:
	case -ENOTDIR:
		return SYMBOL_METRIC_PERF_MAP_NONE;
	case -ESRCH:
		return SYMBOL_METRIC_PERF_MAP_EXITED;
	case -ELOOP:
	case -EXDEV:
	case -EMEDIUMTYPE:
		return SYMBOL_METRIC_PERF_MAP_NOT_REGULAR;
	case -EPERM:
		return SYMBOL_METRIC_PERF_MAP_OWNER;
	case -ETIMEDOUT:
	case -EBUSY:
		return SYMBOL_METRIC_PERF_MAP_HANGS;
	default:
		return SYMBOL_METRIC_PERF_MAP_FAILED;
	}
}

static struct read_job *new_job(const struct perf_map_files *f, const struct process_map *p,
				const struct source *s)
{
	struct read_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct deadline_job){.run = run_job, .free = free_job, .key = CALL_KEY};
	job->root_fd = open(f->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	job->key = p->key;
	job->held = jit_files_ref(p->held);
	job->is_dump = s->is_dump;
	job->place = s->place;
	return job;
}

static int take_map(const struct perf_map_files *f, struct source *s, const struct read_job *job)
{
	int r = s->map ? 0 : perf_map_new(&s->map, f->max_bytes / 2);

	if (r < 0)
		return r;
	if (job->is_inside)
		perf_map_skip_line(s->map);
	r = perf_map_add(s->map, job->text, job->len);
	if (r == 0 && job->is_settled)
		r = perf_map_add_rest(s->map);
	s->place = job->place;
	return r;
}

static int take_dump(const struct perf_map_files *f, struct source *s, const struct read_job *job)
{
	int r = s->dump ? 0 : dump_names_new(&s->dump, f->max_bytes / 2);

	if (r < 0)
		return r;
	r = dump_names_add(s->dump, job->text, job->len);
	s->place = job->place;
	s->place.offset += dump_names_skip(s->dump, job->size - s->place.offset);
	return dump_names_is_broken(s->dump) ? -EBADMSG : r;
}

/* Returns 1 if there is more, 0, or why nothing could be read. */
static int poll_piece(const struct perf_map_files *f, const struct process_map *p, struct source *s)
{
	struct read_job *job = new_job(f, p, s);
	int r;

	if (!job)
		return -ENOMEM;
	/* a cast: gcc's analyzer takes a job for lost of which only a member is passed on */
	r = deadline_call(f->caller, (struct deadline_job *)job);
	if (r < 0) /* job is freed */
		return r;
	r = job->result;
	if (r == 0 && job->is_anew)
		forget(s);
	if (r == 0)
		r = s->is_dump ? take_dump(f, s, job) : take_map(f, s, job);
	if (r == 0)
		r = job->len > 0 && s->place.offset < job->size;
	free_job(&job->job);
	return r;
}

static void evict(struct source *s, size_t *n)
{
	*n -= bytes_of(s);
	forget(s);
}

/* Evicts what was not used for the longest time, but not of p. */
static void keep_budget(struct perf_map_files *f, const struct process_map *p)
{
	size_t n = perf_map_files_bytes(f);

	for (struct process_map *old = f->table; old && n > f->max_bytes; old = old->hh.next) {
		if (old == p)
			continue;
		evict(&old->map, &n);
		evict(&old->dump, &n);
	}
}

static void poll_file(struct perf_map_files *f, const struct process_map *p, struct source *s,
		      uint64_t now_ns)
{
	uint64_t pause_ns = POLL_MIN_NS, most = FILE_MAX_BYTES / PIECE_BYTES + 1;
	int r = 1;

	if (s->is_dump)
		most = DUMP_PIECES;
	for (uint64_t n = 0; r == 1 && n < most; n++)
		r = poll_piece(f, p, s);
	r = r < 0 ? r : 0;
	metric_add(
		&symbol_metrics[s->is_dump && r == 0 ? SYMBOL_METRIC_JIT_DUMP_READ : outcome_of(r)],
		1);
	s->hangs |= r == -ETIMEDOUT;
	s->n_missing = r < 0 ? s->n_missing + 1 : 0;
	for (unsigned i = 0; i < s->n_missing && pause_ns < MISSING_MAX_NS; i++)
		pause_ns *= 2;
	s->poll_ns = now_ns + pause_ns;
	keep_budget(f, p);
}

/* ---- lookup ---- */

static int add_process(struct perf_map_files *f, const struct process_key *key,
		       struct process_map **ret)
{
	struct process_map *p = table_malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = (struct process_map){.key = *key, .dump.is_dump = true};
	if (HASH_COUNT(f->table) >= PROCESSES_MAX)
		drop(f, f->table);
	HASH_ADD(hh, f->table, key, sizeof(p->key), p);
	if (!TABLE_ADDED(hh, p)) {
		table_free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

static bool is_due(const struct process_map *p, const struct source *s, uint64_t now_ns)
{
	bool is_there = s->n_missing > 0 && p->held && jit_files_has_map(p->held) && !s->is_dump;

	return !s->hangs && (now_ns >= s->poll_ns || is_there);
}

static void poll_if_due(struct perf_map_files *f, const struct process_map *p, struct source *s,
			uint64_t now_ns)
{
	if (s->cycle == f->cycle)
		return;
	s->cycle = f->cycle;
	if (is_due(p, s, now_ns))
		poll_file(f, p, s, now_ns);
}

static void take_held(struct process_map *p, struct jit_files *held)
{
	struct jit_files *old = p->held;

	if (jit_files_better(held, old) == old)
		return;
	p->held = jit_files_ref(held);
	jit_files_unref(old);
}

static int get_process(struct perf_map_files *f, const struct jit_process *of,
		       struct process_map **ret)
{
	const struct process_key key = {of->start_time, (uint64_t)of->pid};
	struct process_map *p;
	int r = 0;

	HASH_FIND(hh, f->table, &key, sizeof(key), p);
	if (!p)
		r = add_process(f, &key, &p);
	if (r < 0)
		return r;
	take_held(p, of->files);
	if (p->cycle != f->cycle) {
		p->cycle = f->cycle;
		/* the order of the table is that of use */
		HASH_DEL(f->table, p);
		HASH_ADD(hh, f->table, key, sizeof(p->key), p);
		if (!TABLE_ADDED(hh, p)) {
			free_process(p);
			return -ENOMEM;
		}
	}
	*ret = p;
	return 0;
}

static int find_in_map(struct process_map *p, uint64_t address, struct perf_map_name *ret)
{
	const char *name;
	size_t len;
	int r = p->map.map ? perf_map_find(p->map.map, address, &name, &len) : -ENOENT;

	if (r == 0)
		perf_map_name_parse(ret, name, len);
	return r;
}

int perf_map_files_find(struct perf_map_files *f, const struct jit_process *of, uint64_t address,
			uint64_t now_ns, struct perf_map_name *ret)
{
	struct process_map *p;
	int r = get_process(f, of, &p);

	if (r < 0)
		return r;
	if (p->held && jit_files_dump(p->held)) {
		poll_if_due(f, p, &p->dump, now_ns);
		if (p->dump.dump && dump_names_find(p->dump.dump, address, ret) == 0)
			return 0;
	}
	poll_if_due(f, p, &p->map, now_ns);
	return find_in_map(p, address, ret);
}

void perf_map_files_end_cycle(struct perf_map_files *f)
{
	AUTO_CLOSE int root_fd = open(f->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (struct process_map *p = f->table, *next; p; p = next) {
		int fd = root_fd < 0 ? -EMFILE : open_process(root_fd, &p->key);

		next = p->hh.next;
		if (fd == -ESRCH)
			drop(f, p);
		else if (fd >= 0)
			close(fd);
	}
	f->cycle++;
}
