/*
 * The thread may wait for memory without end: where a process has mapped a file whose file system
 * does not answer. So the owner watches it, and if it uses no CPU time for a while, leaves it alone
 * with all that it reads by, and begins another one, which leaves that process alone. Once the
 * memory has answered, the thread ends by itself, and the process is tried again after a pause.
 */
#include "node-agent/interpreter/process/interpreter_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/condition.h"
#include "common/thread/queue.h"
#include "common/thread/stall_watch.h"
#include "common/thread/worker_thread.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/interpreter/process/kept_codes.h"
#include "node-agent/interpreter/process/loaded_pdbs.h"
#include "node-agent/interpreter/process/name_cache.h"
#include "node-agent/interpreter/process/process_memory.h"
#include "node-agent/interpreter/script_lines.h"

#define QUEUE_JOBS 4096u
#define SEEN_SLOTS 16384u /* a power of two */
#define RETRIES 4096u     /* in an interval: a hostile process has frames that never succeed */
#define DEFAULT_NAMES 65536u
#define DEFAULT_TEXT_BYTES ((size_t)2 * 1024 * 1024)
#define READ_TIMEOUT_NS NS_PER_S
#define HUNG_PAUSE_NS (60 * NS_PER_S)
#define END_NS NS_PER_S
#define DEFAULT_HANG_NS (10 * NS_PER_S)
#define POLL_NS NS_PER_S
#define WAITS_MAX 5u      /* of the timeout of a wait, while names are being read */
#define LEFT_ALONE_MAX 4u /* threads */
#define HUNG_MAX 16u
#define NOT_LEFT_ALONE SIZE_MAX

struct job {
	struct process_snapshot *snapshot; /* a reference */
	size_t n;
	struct interpreter_frame frames[];
};

enum names_metric {
	READ,
	HIDDEN,
	LOST_EXITED,
	LOST_REPLACED,
	LOST_DAMAGED,
	LOST_UNREADABLE,
	LOST_FULL,
	LOST_QUEUE,
	LATE,
	NAMES,
	BYTES,
	STUCK,
	PDBS,
	METRICS = PDBS + PDB_RESULTS,
};

#define FRAMES(result_)                                                                        \
	{                                                                                      \
		.name = "coroot_node_agent_interpreter_frames_total",                          \
		.labels = "result=\"" result_ "\"",                                            \
		.help = "Distinct frames of interpreters by what came of reading their names", \
		.kind = METRIC_COUNTER                                                         \
	}

#define ASSEMBLIES(result_)                                                                        \
	{                                                                                          \
		.name = "coroot_node_agent_dotnet_pdbs_total", .labels = "result=\"" result_ "\"", \
		.help = "Assemblies of .NET by what came of looking for their PDB",                \
		.kind = METRIC_COUNTER                                                             \
	}

static const struct metric_def metric_defs[METRICS] = {
	[READ] = FRAMES("named"),
	[HIDDEN] = FRAMES("hidden"),
	[LOST_EXITED] = FRAMES("exited"),
	[LOST_REPLACED] = FRAMES("replaced"),
	[LOST_DAMAGED] = FRAMES("damaged"),
	[LOST_UNREADABLE] = FRAMES("unreadable"),
	[LOST_FULL] = FRAMES("full"),
	[LOST_QUEUE] = FRAMES("queue_full"),
	[LATE] = FRAMES("late"),
	[NAMES] = {.name = "coroot_node_agent_interpreter_names",
		   .help = "Names of frames of interpreters that are kept",
		   .kind = METRIC_GAUGE},
	[BYTES] = {.name = "coroot_node_agent_interpreter_bytes",
		   .help = "Memory for names of frames of interpreters",
		   .kind = METRIC_GAUGE},
	[STUCK] = {.name = "coroot_node_agent_interpreter_stuck_threads",
		   .help = "Threads of the agent that hang reading the memory of a process",
		   .kind = METRIC_GAUGE},
	[PDBS + PDB_READ] = ASSEMBLIES("read"),
	[PDBS + PDB_NONE] = ASSEMBLIES("none"),
	[PDBS + PDB_OTHER_BUILD] = ASSEMBLIES("other_build"),
	[PDBS + PDB_DAMAGED] = ASSEMBLIES("damaged"),
	[PDBS + PDB_TOO_LARGE] = ASSEMBLIES("too_large"),
	[PDBS + PDB_UNREADABLE] = ASSEMBLIES("unreadable"),
};
METRIC_TABLE(metric_table, metric_defs);

struct program {
	pid_t pid; /* 0: none */
	uint64_t start_time;
};

/* A program with which a thread hung. */
struct hung_program {
	struct program program;
	uint64_t until_ns; /* it is left alone; UINT64_MAX while the thread hangs */
};

/* References: of the owner, of the thread while it runs, and others. */
struct interpreter_names {
	atomic_uint refs;
	struct queue *jobs;
	struct worker_thread *thread;
	struct metric metrics[METRICS];
	pthread_mutex_t lock;
	/* under the lock */
	struct condition done;
	struct name_cache *cache;
	struct kept_codes *kept;
	uint64_t n_submitted, n_done; /* jobs */
	struct program busy;          /* whose names are being read */
	struct hung_program hung[HUNG_MAX];
	unsigned n_left_alone;
	uint64_t generation; /* counts what was forgotten */
	uint32_t n_retries;  /* in this interval */
	/*
	 * Keys of frames that were submitted. The thread that sees samples sets them, and the one
	 * that reads clears those that have to be tried again.
	 */
	atomic_uint_least64_t seen[SEEN_SLOTS];
	/* of the thread that sees samples */
	uint64_t seen_generation;
	struct stall_watch watch;
	struct reader *reader; /* the thread's; NULL if there is none */
	uint64_t hang_ns;
	uint64_t hung_pause_ns;
	const char *proc_root;
};

/* What a thread reads by. */
struct reader {
	struct interpreter_names *names; /* a reference */
	struct deadline_caller *caller;
	struct interpreter_files *files;
	struct process_memory *memory;
	struct script_lines lines;
	struct loaded_pdbs *pdbs;
	size_t hung; /* index of what it was left alone with, under the lock; or NOT_LEFT_ALONE */
};

/* ---- on the thread ---- */

static enum names_metric metric_of(int error)
{
	switch (error) {
	case 0:
		return READ;
	case -ENODATA:
	case -ENXIO:
		return HIDDEN;
	case -ESRCH:
		return LOST_EXITED;
	case -ESTALE:
		return LOST_REPLACED;
	case -EBADMSG:
		return LOST_DAMAGED;
	case -ENOBUFS:
	case -ENOMEM:
		return LOST_FULL;
	default:
		return LOST_UNREADABLE;
	}
}

/*
 * Functions that live for a moment are read too late, now and then. A later call of the same
 * function, at the same address, may be in time.
 */
static void try_again(struct interpreter_names *n, uint64_t key)
{
	uint64_t expected = key;

	if (n->n_retries++ < RETRIES)
		(void)atomic_compare_exchange_strong(&n->seen[key % SEEN_SLOTS], &expected, 0);
}

static void keep(struct interpreter_names *n, const struct process_snapshot *s,
		 const struct interpreter_frame *f, int error, const struct interpreter_name *name)
{
	const struct cached_name cached = {
		.function = name->function,
		.file = name->file,
		.line = name->line,
		.start_line = name->start_line,
		.error = error,
		.n_callers = name->n_callers,
		.is_root = name->is_root,
	};
	uint64_t key = name_cache_key(s, f);
	struct cached_name before;
	bool known_before;
	int r;

	pthread_mutex_lock(&n->lock);
	known_before = name_cache_find(n->cache, key, &before);
	r = name_cache_add_frame(n->cache, s, f, &cached);
	if (cached_name_has_failed(error))
		try_again(n, key);
	pthread_mutex_unlock(&n->lock);
	if (!known_before || !cached_name_has_failed(error))
		metric_add(&n->metrics[metric_of(r < 0 ? r : error)], 1);
}

/* Whether the frame has a name, or needs none. */
static bool is_known(struct interpreter_names *n, uint64_t key)
{
	struct cached_name name;
	bool known;

	pthread_mutex_lock(&n->lock);
	known = name_cache_find(n->cache, key, &name) && !cached_name_has_failed(name.error);
	pthread_mutex_unlock(&n->lock);
	return known;
}

/* Returns 0, or -ETIMEDOUT if a thread hung with this process a short time ago. */
static int begin_job(struct interpreter_names *n, const struct process_snapshot *s)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < HUNG_MAX; i++) {
		const struct hung_program *h = &n->hung[i];

		if (h->program.pid == s->pid && h->program.start_time == s->start_time &&
		    now_ns < h->until_ns)
			r = -ETIMEDOUT;
	}
	n->busy = (struct program){s->pid, s->start_time};
	pthread_mutex_unlock(&n->lock);
	return r;
}

/* kept: with the memory of the process. What is kept of the code object is filled in. */
static int read_name(struct interpreter_names *n, const struct interpreter_process *p, pid_t pid,
		     struct kept_memory *kept, const struct interpreter_frame *f,
		     struct interpreter_name *ret)
{
	const struct interpreter_memory excerpt = {kept_memory_read, kept};
	bool is_kept;

	pthread_mutex_lock(&n->lock);
	is_kept = kept_codes_find(n->kept, (uint32_t)pid, f, &kept->code);
	pthread_mutex_unlock(&n->lock);
	if (!is_kept && !kept->below)
		return kept->error;
	return interpreter_ops_of(p->image->language)
		->name_frame(p->image, p->bias, is_kept ? &excerpt : kept->below, f, ret);
}

/* Those of a frame of which the innermost function has been named. */
static void name_callers(struct interpreter_names *n, const struct interpreter_process *p,
			 const struct process_snapshot *s, struct kept_memory *kept,
			 const struct interpreter_frame *innermost, uint32_t n_callers)
{
	struct interpreter_frame f = *innermost;
	struct interpreter_name name = {0};

	while (f.level < n_callers) {
		int error;

		f.level++;
		error = read_name(n, p, s->pid, kept, &f, &name);
		keep(n, s, &f, error, &name);
	}
}

static uint64_t process_hash(const struct process_snapshot *s)
{
	return name_cache_key(s, &(struct interpreter_frame){0});
}

static void run_job(struct reader *k, const struct job *j)
{
	struct interpreter_names *n = k->names;
	struct interpreter_process process = {0};
	struct interpreter_name name = {0};
	struct interpreter_memory memory;
	struct kept_memory kept = {0};
	int r = begin_job(n, j->snapshot);

	if (r == 0)
		r = interpreter_files_find(k->files, j->snapshot, &process);
	if (r == 0)
		kept.error = process_memory_get(k->memory, j->snapshot, &memory);
	kept.below = kept.error == 0 ? &memory : NULL;
	memory.lines = &k->lines;
	memory.pdbs = loaded_pdbs_of(k->pdbs, j->snapshot);
	k->lines.process = process_hash(j->snapshot);
	for (size_t i = 0; i < j->n; i++) {
		uint64_t key = name_cache_key(j->snapshot, &j->frames[i]);
		int error = r;

		if (is_known(n, key))
			continue;
		if (r == 0)
			error = read_name(n, &process, j->snapshot->pid, &kept, &j->frames[i],
					  &name);
		keep(n, j->snapshot, &j->frames[i], error, &name);
		if (error == 0 && name.n_callers > 0)
			name_callers(n, &process, j->snapshot, &kept, &j->frames[i],
				     name.n_callers);
	}
}

static void free_job(struct job *j)
{
	process_snapshot_unref(j->snapshot);
	free(j);
}

static void end_job(struct interpreter_names *n)
{
	pthread_mutex_lock(&n->lock);
	n->busy.pid = 0;
	n->n_done++;
	condition_broadcast(&n->done);
	pthread_mutex_unlock(&n->lock);
}

static void run(void *ctx, struct worker_thread *t)
{
	struct reader *k = ctx;
	struct job *j;

	while (!worker_thread_must_end(t) && (j = queue_pop(k->names->jobs))) {
		run_job(k, j);
		free_job(j);
		if (!worker_thread_is_abandoned(t)) /* else the owner has ended it */
			end_job(k->names);
	}
}

/* The memory has answered, or the process has been killed. */
static void end_hanging(struct reader *k)
{
	struct interpreter_names *n = k->names;

	pthread_mutex_lock(&n->lock);
	if (k->hung != NOT_LEFT_ALONE) {
		n->hung[k->hung].until_ns = clock_monotonic_ns() + n->hung_pause_ns;
		metric_set(&n->metrics[STUCK], --n->n_left_alone);
	}
	pthread_mutex_unlock(&n->lock);
}

static void reader_free(struct reader *k)
{
	if (!k)
		return;
	interpreter_files_free(k->files);
	process_memory_free(k->memory);
	script_lines_fini(&k->lines);
	loaded_pdbs_free(k->pdbs);
	deadline_caller_free(k->caller);
	interpreter_names_unref(k->names);
	free(k);
}
DEFINE_CLEANUP(struct reader *, reader_free);

static void thread_ends(void *ctx, bool abandoned)
{
	(void)abandoned;
	end_hanging(ctx);
	reader_free(ctx);
}

/* ---- on the owner's thread ---- */

static int start_thread(struct interpreter_names *n)
{
	CLEANUP(reader_freep) struct reader *k = calloc(1, sizeof(*k));
	struct worker_thread_config thread = {
		.name = "frame-names", .run = run, .free = thread_ends};
	int r;

	if (!k)
		return -ENOMEM;
	k->names = interpreter_names_ref(n);
	k->hung = NOT_LEFT_ALONE;
	r = deadline_caller_new(&k->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (r == 0)
		r = process_memory_new(&k->memory, n->proc_root);
	if (r == 0)
		r = interpreter_files_new(&k->files, k->caller, k->memory);
	if (r == 0)
		r = loaded_pdbs_new(&k->pdbs, n->proc_root, k->caller, &n->metrics[PDBS]);
	if (r < 0)
		return r;
	thread.ctx = k;
	r = worker_thread_start(&n->thread, &thread);
	if (r == 0)
		n->reader = TAKE_PTR(k);
	return r;
}

/* Of more programs than it can hold, those whose pause ends first are tried again. */
static void leave_alone(struct interpreter_names *n, struct program p)
{
	size_t first = 0;

	for (size_t i = 1; i < HUNG_MAX; i++) {
		if (n->hung[i].until_ns < n->hung[first].until_ns)
			first = i;
	}
	n->hung[first] = (struct hung_program){p, UINT64_MAX};
	n->reader->hung = first;
	metric_set(&n->metrics[STUCK], ++n->n_left_alone);
}

/* While LEFT_ALONE_MAX threads hang, no name is read: watch_thread() begins one afterwards. */
static void replace_thread(struct interpreter_names *n)
{
	struct program hung;
	bool may_start;

	pthread_mutex_lock(&n->lock);
	hung = n->busy;
	leave_alone(n, hung);
	pthread_mutex_unlock(&n->lock);
	log_warn("the memory of a process does not answer; frames of its interpreter have no names",
		 "pid=%d", (int)hung.pid);
	n->reader = NULL;
	(void)worker_thread_abandon(TAKE_PTR(n->thread));
	end_job(n);
	pthread_mutex_lock(&n->lock);
	may_start = n->n_left_alone < LEFT_ALONE_MAX;
	pthread_mutex_unlock(&n->lock);
	if (may_start)
		(void)!start_thread(n);
}

static void watch_thread(struct interpreter_names *n)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_busy, may_start;

	if (now_ns - n->watch.polled_ns < POLL_NS)
		return;
	pthread_mutex_lock(&n->lock);
	is_busy = n->busy.pid != 0;
	may_start = n->n_left_alone < LEFT_ALONE_MAX;
	pthread_mutex_unlock(&n->lock);
	if (!n->thread) {
		stall_watch_init(&n->watch, POLL_NS, now_ns);
		if (may_start)
			(void)!start_thread(n);
		return;
	}
	if (stall_watch_poll(&n->watch, now_ns, worker_thread_cpu_ns(n->thread), is_busy) >=
	    n->hang_ns)
		replace_thread(n);
}

static bool is_new(struct interpreter_names *n, uint64_t key)
{
	return atomic_exchange_explicit(&n->seen[key % SEEN_SLOTS], key, memory_order_relaxed) !=
	       key;
}

static void forget_all_seen(struct interpreter_names *n)
{
	for (size_t i = 0; i < SEEN_SLOTS; i++)
		atomic_store_explicit(&n->seen[i], 0, memory_order_relaxed);
}

static void submit(struct interpreter_names *n, struct job *j)
{
	pthread_mutex_lock(&n->lock);
	n->n_submitted++;
	pthread_mutex_unlock(&n->lock);
	if (queue_push(n->jobs, j) == 0)
		return;
	pthread_mutex_lock(&n->lock);
	n->n_submitted--;
	pthread_mutex_unlock(&n->lock);
	metric_add(&n->metrics[LOST_QUEUE], j->n);
	/* they are asked for again */
	forget_all_seen(n);
	free_job(j);
}

static void forget_seen(struct interpreter_names *n)
{
	uint64_t generation;

	pthread_mutex_lock(&n->lock);
	generation = n->generation;
	pthread_mutex_unlock(&n->lock);
	if (generation == n->seen_generation)
		return;
	n->seen_generation = generation;
	forget_all_seen(n);
}

void interpreter_names_see(struct interpreter_names *n, struct process_snapshot *s,
			   const struct chain_entry *chain, size_t n_chain, uint32_t chain_state)
{
	struct job *j = NULL;

	if (n_chain == 0)
		return;
	watch_thread(n);
	forget_seen(n);
	for (size_t i = 0; i < n_chain; i++) {
		struct interpreter_frame f = {
			.code = chain_entry_code(&chain[i]),
			.check = chain_entry_check(&chain[i]),
			.at = chain_entry_at(&chain[i]),
		};

		if (chain_state & CHAIN_CALLERS_NAME && i + 1 < n_chain) {
			f.caller_code = chain_entry_code(&chain[i + 1]);
			f.caller_at = chain_entry_at(&chain[i + 1]);
		}
		if (!is_new(n, name_cache_key(s, &f)))
			continue;
		if (!j) {
			j = malloc(sizeof(*j) + (n_chain - i) * sizeof(j->frames[0]));
			if (!j)
				return;
			j->snapshot = process_snapshot_ref(s);
			j->n = 0;
		}
		j->frames[j->n++] = f;
	}
	if (j)
		submit(n, j);
}

void interpreter_names_keep(struct interpreter_names *n, const struct code_event *e)
{
	pthread_mutex_lock(&n->lock);
	kept_codes_add(n->kept, e);
	pthread_mutex_unlock(&n->lock);
}

/* ---- on any thread ---- */

void interpreter_names_wait(struct interpreter_names *n, uint64_t timeout_ns)
{
	uint64_t end_ns = condition_deadline_ns(
		timeout_ns < UINT64_MAX / WAITS_MAX ? timeout_ns * WAITS_MAX : UINT64_MAX);
	uint64_t until, done, deadline_ns;
	bool more = true;

	pthread_mutex_lock(&n->lock);
	until = n->n_submitted;
	while (more && n->n_done < until) {
		done = n->n_done;
		deadline_ns = condition_deadline_ns(timeout_ns);
		if (deadline_ns > end_ns)
			deadline_ns = end_ns;
		while (n->n_done == done && more)
			more = condition_wait_until(&n->done, &n->lock, deadline_ns);
	}
	pthread_mutex_unlock(&n->lock);
}

static void copy_text(char *to, size_t cap, const char *from)
{
	size_t len = strnlen(from, cap - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

int interpreter_names_find(struct interpreter_names *n, const struct process_snapshot *s,
			   const struct interpreter_frame *f, struct interpreter_name *ret)
{
	struct cached_name name;
	int r = -EINPROGRESS;

	pthread_mutex_lock(&n->lock);
	if (name_cache_find_frame(n->cache, s, f, &name)) {
		r = name.error;
		copy_text(ret->function, sizeof(ret->function), name.function);
		copy_text(ret->file, sizeof(ret->file), name.file);
		ret->line = name.line;
		ret->start_line = name.start_line;
		ret->n_callers = name.n_callers;
		ret->is_root = name.is_root;
	} else if (n->n_done < n->n_submitted) {
		metric_add(&n->metrics[LATE], 1);
	}
	pthread_mutex_unlock(&n->lock);
	return r;
}

void interpreter_names_end_cycle(struct interpreter_names *n)
{
	pthread_mutex_lock(&n->lock);
	n->generation += name_cache_end_cycle(n->cache);
	n->n_retries = 0;
	metric_set(&n->metrics[NAMES], name_cache_count(n->cache));
	metric_set(&n->metrics[BYTES], name_cache_bytes(n->cache));
	pthread_mutex_unlock(&n->lock);
}

/* ---- create and destroy ---- */

static void destroy(struct interpreter_names *n)
{
	struct job *j;

	while (n->jobs && (j = queue_pop_timeout(n->jobs, 0)))
		free_job(j);
	queue_free(n->jobs);
	name_cache_free(n->cache);
	kept_codes_free(n->kept);
	condition_fini(&n->done);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

struct interpreter_names *interpreter_names_ref(struct interpreter_names *n)
{
	if (n)
		atomic_fetch_add(&n->refs, 1);
	return n;
}

void interpreter_names_unref(struct interpreter_names *n)
{
	if (n && atomic_fetch_sub(&n->refs, 1) == 1)
		destroy(n);
}

void interpreter_names_free(struct interpreter_names *n)
{
	if (!n)
		return;
	if (n->thread) {
		worker_thread_stop(n->thread);
		queue_close(n->jobs);
		if (worker_thread_join(n->thread, END_NS) < 0)
			(void)worker_thread_abandon(n->thread);
	}
	interpreter_names_unref(n);
}

int interpreter_names_new(struct interpreter_names **ret,
			  const struct interpreter_names_config *cfg)
{
	CLEANUP(interpreter_names_freep) struct interpreter_names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	atomic_init(&n->refs, 1);
	pthread_mutex_init(&n->lock, NULL);
	condition_init(&n->done);
	n->proc_root = cfg->proc_root ?: "/proc";
	n->hang_ns = cfg->hang_ns ?: DEFAULT_HANG_NS;
	n->hung_pause_ns = cfg->hung_pause_ns ?: HUNG_PAUSE_NS;
	stall_watch_init(&n->watch, POLL_NS, clock_monotonic_ns());
	r = name_cache_new(&n->cache, cfg->max_names ?: DEFAULT_NAMES,
			   cfg->max_text_bytes ?: DEFAULT_TEXT_BYTES);
	if (r == 0)
		r = kept_codes_new(&n->kept);
	if (r == 0)
		r = queue_new(&n->jobs, QUEUE_JOBS);
	if (r == 0)
		r = start_thread(n);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

int interpreter_names_register_metrics(struct interpreter_names *n, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, n->metrics, n);
}
