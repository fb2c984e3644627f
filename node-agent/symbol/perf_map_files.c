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
#include "node-agent/procfs/procfs.h"
#include "node-agent/symbol/perf_map.h"
#include "node-agent/symbol/symbol_metrics.h"

#define FILE_MAX_BYTES ((uint64_t)32 * 1024 * 1024)
#define PIECE_BYTES ((size_t)1024 * 1024)
#define SETTLED_NS (2 * NS_PER_S)
#define BLOCK_BYTES 4096 /* the smallest that stdio writes at once */
#define TAIL_BYTES 64u   /* before the place where the next poll reads, to recognise the file */
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
	size_t tail_len;
	char tail[TAIL_BYTES]; /* the bytes before offset */
};

struct process_map {
	UT_hash_handle hh; /* by key, in the order of use */
	struct process_key key;
	struct jit_files *held; /* a reference; NULL: nothing */
	struct perf_map *map;   /* NULL: none was read */
	struct place place;
	uint64_t cycle;     /* of its last lookup */
	uint64_t poll_ns;   /* not polled before */
	unsigned n_missing; /* polls in a row that found none */
	bool hangs;
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

static void forget_map(struct process_map *p)
{
	perf_map_free(p->map);
	p->map = NULL;
	p->place = (struct place){0};
}

static void free_process(struct process_map *p)
{
	perf_map_free(p->map);
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
		n += sizeof(*p) + (p->map ? perf_map_bytes(p->map) : 0);
	return n;
}

size_t perf_map_files_count(const struct perf_map_files *f)
{
	size_t n = 0;

	for (const struct process_map *p = f->table; p; p = p->hh.next)
		n += p->map != NULL;
	return n;
}

/* ---- reading a piece, on the thread with the deadline ---- */

struct read_job {
	struct deadline_job job;
	int root_fd; /* of /proc; its own */
	struct process_key key;
	struct jit_files *held; /* a reference; NULL: nothing */
	struct place place;     /* where to begin; afterwards, where it ended */
	int result;
	bool has_exited;
	bool is_anew;   /* text is not what follows the place, but the beginning of the file */
	bool is_inside; /* text begins in the middle of a line */
	bool has_more;
	bool is_settled; /* text is the end of a file that nobody is writing */
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

/* Whether the file is the one that was read to that place, and only longer now. */
static bool is_continued(const struct place *place, const struct stat *st, int fd)
{
	char tail[TAIL_BYTES];

	return place->dev == st->st_dev && place->ino == st->st_ino &&
	       place->offset <= (uint64_t)st->st_size &&
	       pread(fd, tail, place->tail_len, (off_t)(place->offset - place->tail_len)) ==
		       (ssize_t)place->tail_len &&
	       memcmp(tail, place->tail, place->tail_len) == 0;
}

static int read_piece(struct read_job *job, int fd, uint64_t size)
{
	struct place *place = &job->place;
	ssize_t n;

	if (size - place->offset > FILE_MAX_BYTES) {
		place->offset = size - FILE_MAX_BYTES;
		job->is_inside = true;
	}
	n = pread(fd, job->text, PIECE_BYTES, (off_t)place->offset);
	if (n < 0)
		return -errno;
	job->len = (size_t)n;
	place->offset += job->len;
	job->has_more = n > 0 && place->offset < size;
	if (job->len >= TAIL_BYTES) {
		place->tail_len = TAIL_BYTES;
		memcpy(place->tail, job->text + job->len - TAIL_BYTES, TAIL_BYTES);
	} else if (job->len > 0) {
		place->tail_len = job->len;
		memcpy(place->tail, job->text, job->len);
	}
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

static int read_map(struct read_job *job)
{
	struct stat st;
	AUTO_CLOSE int fd = open_map(job, &st);
	int r;

	if (fd < 0)
		return fd;
	if (!is_continued(&job->place, &st, fd)) {
		job->is_anew = true;
		job->place = (struct place){.dev = st.st_dev, .ino = st.st_ino};
	}
	r = read_piece(job, fd, (uint64_t)st.st_size);
	job->is_settled =
		job->place.offset == (uint64_t)st.st_size && is_settled(&st, job->has_exited);
	return r;
}

static void run_job(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	job->result = read_map(job);
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

static struct read_job *new_job(const struct perf_map_files *f, const struct process_map *p)
{
	struct read_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct deadline_job){.run = run_job, .free = free_job, .key = CALL_KEY};
	job->root_fd = open(f->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	job->key = p->key;
	job->held = jit_files_ref(p->held);
	job->place = p->place;
	return job;
}

static int take_text(const struct perf_map_files *f, struct process_map *p,
		     const struct read_job *job)
{
	int r = 0;

	if (job->is_anew)
		forget_map(p);
	if (!p->map)
		r = perf_map_new(&p->map, f->max_bytes / 2);
	if (r < 0)
		return r;
	if (job->is_inside)
		perf_map_skip_line(p->map);
	r = perf_map_add(p->map, job->text, job->len);
	if (r == 0 && job->is_settled)
		r = perf_map_add_rest(p->map);
	p->place = job->place;
	return r;
}

/* Returns 1 if there is more, 0, or why nothing could be read. */
static int poll_piece(const struct perf_map_files *f, struct process_map *p)
{
	struct read_job *job = new_job(f, p);
	int r;

	if (!job)
		return -ENOMEM;
	/* a cast: gcc's analyzer takes a job for lost of which only a member is passed on */
	r = deadline_call(f->caller, (struct deadline_job *)job);
	if (r < 0) /* job is freed */
		return r;
	r = job->result;
	if (r == 0)
		r = take_text(f, p, job);
	if (r == 0)
		r = job->has_more;
	free_job(&job->job);
	return r;
}

/* Evicts the maps that were not used for the longest time, but not p's. */
static void keep_budget(struct perf_map_files *f, const struct process_map *p)
{
	size_t n = perf_map_files_bytes(f);

	for (struct process_map *old = f->table; old && n > f->max_bytes; old = old->hh.next) {
		if (old == p || !old->map)
			continue;
		n -= perf_map_bytes(old->map);
		forget_map(old);
	}
}

static void poll_file(struct perf_map_files *f, struct process_map *p, uint64_t now_ns)
{
	uint64_t pause_ns = POLL_MIN_NS;
	int r = 1;

	for (uint64_t n = 0; r == 1 && n <= FILE_MAX_BYTES / PIECE_BYTES; n++)
		r = poll_piece(f, p);
	r = r < 0 ? r : 0;
	metric_add(&symbol_metrics[outcome_of(r)], 1);
	p->hangs |= r == -ETIMEDOUT;
	p->n_missing = r < 0 ? p->n_missing + 1 : 0;
	for (unsigned i = 0; i < p->n_missing && pause_ns < MISSING_MAX_NS; i++)
		pause_ns *= 2;
	p->poll_ns = now_ns + pause_ns;
	keep_budget(f, p);
}

/* ---- lookup ---- */

static int add_process(struct perf_map_files *f, const struct process_key *key,
		       struct process_map **ret)
{
	struct process_map *p = table_malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = (struct process_map){.key = *key};
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

static bool is_due(const struct process_map *p, uint64_t now_ns)
{
	bool is_there = p->n_missing > 0 && p->held && jit_files_has_map(p->held);

	return !p->hangs && (now_ns >= p->poll_ns || is_there);
}

static void take_held(struct process_map *p, struct jit_files *held)
{
	struct jit_files *old = p->held;

	if (!held || held == old)
		return;
	p->held = jit_files_ref(held);
	jit_files_unref(old);
}

/* The process, polled if that is due. */
static int get_process(struct perf_map_files *f, const struct jit_process *of, uint64_t now_ns,
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
		if (is_due(p, now_ns))
			poll_file(f, p, now_ns);
	}
	*ret = p;
	return 0;
}

int perf_map_files_find(struct perf_map_files *f, const struct jit_process *of, uint64_t address,
			uint64_t now_ns, struct perf_map_name *ret)
{
	struct process_map *p;
	const char *name;
	size_t len;
	int r = get_process(f, of, now_ns, &p);

	if (r == 0)
		r = p->map ? perf_map_find(p->map, address, &name, &len) : -ENOENT;
	if (r == 0)
		perf_map_name_parse(ret, name, len);
	return r;
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
