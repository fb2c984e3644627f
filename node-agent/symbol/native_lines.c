/*
 * There is one program that reads DWARF, and it answers one question after the other. So a question
 * that takes long delays all others, whoever waits for it: the profile stops waiting, and asks
 * nothing more until the answer is there, which is then stored like those between profiles.
 *
 * What is remembered is an address and its file, whose descriptor is kept: the process that had it
 * mapped may be gone by then.
 */
#include "node-agent/symbol/native_lines.h"

#include <errno.h>
#include <fcntl.h>

#include "common/limits.h"
#include "common/symbols/demangle.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/text/utf8.h"
#include "node-agent/lines/line_reader.h"
#include "node-agent/symbol/line_budget.h"
#include "node-agent/symbol/symbol_metrics.h"

#define CYCLE_NS NS_PER_S
#define LIMITED_CYCLE_NS (300 * NS_PER_MS) /* within a budget */
#define MINUTE_NS (60 * NS_PER_S)
#define FILE_MINUTE_NS (5 * NS_PER_S)
#define ALL_MINUTE_NS (20 * NS_PER_S)
#define CPU_AT_ONCE_MS 1000u
#define CPU_LATER_MS 5000u
/* Of both processes, in the kernel and here, beside what the answer itself takes. */
#define QUESTION_NS UINT64_C(30000)
#define HEAVIER 4u /* than the next one of the same file, which is open: goes first */

struct name_memory {
	char name[LIMIT_SYMBOL_NAME_BYTES + 1];
	char path[LIMIT_SYMBOL_NAME_BYTES + 1];
};

struct address {
	uint64_t vaddr;
	uint32_t weight;
	bool named; /* its location in the cache has the name of the function */
	struct address *next;
};

/* A file with addresses that are remembered, or one that must not be asked about again. */
struct later_file {
	uint32_t number; /* 0: the place is free */
	int fd;
	int package_fd; /* -1: none */
	uint64_t size_bytes;
	char *label;
	struct address *first;
	uint64_t spent_ns; /* in this minute */
	bool sorted;       /* the heaviest address is the first one */
	bool failed;
};

struct native_lines {
	struct line_reader *reader;
	struct frame_cache *cache;
	uint64_t left_ns; /* of this cycle, for profiles */
	unsigned patience;
	struct later_file later[NATIVE_LINES_FILES_MAX];
	struct address addresses[NATIVE_LINES_ADDRESSES_MAX];
	size_t n_touched;     /* of these, that were ever used */
	struct address *free; /* of these, that are free again */
	size_t n_addresses;   /* that are in use */
	uint64_t minute_start_ns;
	uint64_t spent_ns; /* between profiles, in this minute */
	struct line_budget budget;
	uint32_t last_file; /* that was asked about, by number */
	/* the question that has no answer yet */
	bool asked;
	struct later_file *asked_file; /* NULL: nobody needs the answer any more */
	struct address asked_address;
	uint64_t asked_ns;
	struct line_answer answer;
	struct name_memory memory;
};

static void clear_file(struct later_file *f)
{
	closep(&f->fd);
	closep(&f->package_fd);
	free(f->label);
	*f = (struct later_file){.fd = -1, .package_fd = -1};
}

/* The first address; its place is free then. */
static struct address take_first(struct native_lines *n, struct later_file *f)
{
	struct address *a = f->first;

	f->first = a->next;
	a->next = n->free;
	n->free = a;
	n->n_addresses--;
	return *a;
}

int native_lines_new(struct native_lines **ret, struct frame_cache *cache, const char *program)
{
	CLEANUP(native_lines_freep) struct native_lines *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++)
		n->later[i].fd = n->later[i].package_fd = -1;
	n->cache = cache;
	n->left_ns = CYCLE_NS;
	n->patience = 1;
	r = line_reader_new(&n->reader, program);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

void native_lines_free(struct native_lines *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++)
		clear_file(&n->later[i]);
	line_reader_free(n->reader);
	free(n);
}

void native_lines_limit(struct native_lines *n, int64_t left_ns)
{
	line_budget_init(&n->budget, clock_monotonic_ns());
	n->budget.left_ns = left_ns;
	n->left_ns = LIMITED_CYCLE_NS;
}

void native_lines_set_patience(struct native_lines *n, unsigned times)
{
	n->patience = times;
}

static void count(enum symbol_metric m)
{
	metric_add(&symbol_metrics[m], 1);
}

/* Accounts for an answer, or for none in time. */
static void note_answer(struct native_lines *n, int r)
{
	uint64_t ns = line_reader_cpu_ns(n->reader) + QUESTION_NS;

	line_budget_spend(&n->budget, ns);
	metric_add(&symbol_metrics[SYMBOL_METRIC_LINES_CPU], ns);
	switch (r) {
	case 0:
		count(SYMBOL_METRIC_LINES_FOUND);
		break;
	case -ENOENT:
		count(SYMBOL_METRIC_LINES_NONE);
		break;
	case -ETIMEDOUT:
		count(SYMBOL_METRIC_LINES_SLOW);
		break;
	case -ECONNRESET:
		count(SYMBOL_METRIC_LINES_KILLED);
		log_warn_limited(
			"the process that reads line numbers was killed; it is started again",
			NULL);
		break;
	default:
		count(SYMBOL_METRIC_LINES_FAILED);
	}
}

/* ---- what is remembered ---- */

static struct later_file *find_later(struct native_lines *n, uint32_t number)
{
	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++) {
		if (n->later[i].number == number)
			return &n->later[i];
	}
	return NULL;
}

/* A free place, or that of a file that nothing is remembered of; NULL: there is none. */
static struct later_file *find_place(struct native_lines *n)
{
	struct later_file *idle = NULL;

	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++) {
		struct later_file *f = &n->later[i];

		if (f->number == 0)
			return f;
		/* what has used up its minute must not get another one by coming back */
		if (!f->first && f != n->asked_file && (!idle || f->spent_ns < idle->spent_ns))
			idle = f;
	}
	if (idle)
		clear_file(idle);
	return idle;
}

static struct later_file *add_later(struct native_lines *n, const struct native_lines_file *from)
{
	AUTO_CLOSE int fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
	AUTO_CLOSE int package_fd =
		from->package_fd > 0 ? fcntl(from->package_fd, F_DUPFD_CLOEXEC, 0) : -1;
	AUTO_FREE char *label = strdup(from->label);
	struct later_file *f = fd >= 0 && label ? find_place(n) : NULL;

	if (f)
		*f = (struct later_file){
			.number = from->number,
			.fd = TAKE_FD(fd),
			.package_fd = TAKE_FD(package_fd),
			.size_bytes = from->size_bytes,
			.label = TAKE_PTR(label),
		};
	return f;
}

/* The place of a file, which it may get now; NULL: there is none. */
static struct later_file *get_later(struct native_lines *n, const struct native_lines_file *from)
{
	struct later_file *known = find_later(n, from->number);

	return known ? known : add_later(n, from);
}

static bool add_address(struct native_lines *n, struct later_file *f, struct address a)
{
	struct address *place = n->free;

	if (place)
		n->free = place->next;
	else if (n->n_touched < NATIVE_LINES_ADDRESSES_MAX)
		place = &n->addresses[n->n_touched++];
	else
		return false;
	*place = a;
	place->next = f->first;
	f->first = place;
	f->sorted = false;
	n->n_addresses++;
	return true;
}

/* Returns -EINPROGRESS, or -EAGAIN if there is no room. */
static int ask_later(struct native_lines *n, const struct native_lines_file *from,
		     struct address address)
{
	struct later_file *f = get_later(n, from);

	if (!f || !add_address(n, f, address)) {
		count(SYMBOL_METRIC_LINES_NO_ROOM);
		return -EAGAIN;
	}
	count(SYMBOL_METRIC_LINES_LATE);
	return -EINPROGRESS;
}

/* ---- answers that no profile waits for ---- */

/* The name that the address has without DWARF; NULL: none, or forgotten. */
static const char *known_name(struct native_lines *n, const struct later_file *f,
			      struct address address)
{
	const struct symbol_location *l = frame_cache_get(n->cache, f->number, address.vaddr);

	return l && address.named ? symbol_location_outermost(l)->function : NULL;
}

_Static_assert(LINE_ANSWER_FRAMES_MAX <= SYMBOL_LOCATION_FRAMES_MAX, "all have a place");

/* Paths have no blanks, as files of frames have none. */
static const char *clean_path(struct name_memory *m, const char *path)
{
	size_t len = strnlen(path, sizeof(m->path) - 1);

	memcpy(m->path, path, len);
	m->path[utf8_make_printable(m->path, len)] = '\0';
	for (char *p = m->path; *p; p++) {
		if (*p == ' ')
			*p = '_';
	}
	return m->path;
}

static int add_frame(struct frame_cache *cache, const char *label, struct name_memory *m,
		     const struct line_frame *from, const char *function, struct symbol_frame *ret)
{
	const char *file = from->file[0] ? clean_path(m, from->file) : label;
	int r;

	if (!function) {
		demangle(from->function, m->name, sizeof(m->name));
		function = m->name;
	}
	ret->line = from->file[0] ? from->line : 0;
	ret->start_line = 0;
	r = frame_cache_text(cache, function, &ret->function);
	return r == 0 ? frame_cache_text(cache, file, &ret->file) : r;
}

/*
 * Stores the location that an answer describes in the cache. label is the file of a function whose
 * source file is unknown. function is the readable name of the outermost function, as symbol tables
 * have it; NULL: they have none. Returns 0, -ENOENT if the answer has no names, -ENOSPC if the
 * cache is full, or -ENOMEM.
 */
static int store_location(struct frame_cache *cache, const struct line_answer *a, const char *label,
			  const char *function, struct name_memory *memory,
			  const struct symbol_location **ret)
{
	struct symbol_frame frames[LINE_ANSWER_FRAMES_MAX];
	int r = a->n > 0 ? 0 : -ENOENT;

	for (uint32_t i = 0; r == 0 && i < a->n; i++) {
		/* the name is the same whether there is DWARF or not */
		const char *name = i + 1 == a->n ? function : NULL;

		if (!name && a->frames[i].function[0] == '\0')
			return -ENOENT;
		r = add_frame(cache, label, memory, &a->frames[i], name, &frames[i]);
	}
	if (r == 0)
		r = frame_cache_intern(cache, frames, a->n, ret);
	return r == -EFBIG ? -ENOSPC : r; /* -EFBIG is said of the file */
}

static void store_answer(struct native_lines *n, const struct later_file *f, struct address address)
{
	const struct symbol_location *location;

	if (!frame_cache_is_filling(n->cache) &&
	    store_location(n->cache, &n->answer, f->label, known_name(n, f, address), &n->memory,
			   &location) == 0)
		frame_cache_put(n->cache, f->number, address.vaddr, location);
}

static void fail(struct native_lines *n, struct later_file *f)
{
	while (f->first)
		(void)take_first(n, f);
	f->failed = true;
}

/* Waits for the answer to the question that has none. Returns 0 once there is one, or an error. */
static int collect(struct native_lines *n, uint64_t timeout_ns)
{
	struct later_file *f = n->asked_file;
	int r = line_reader_wait(n->reader, timeout_ns, &n->answer);

	if (r == -EAGAIN || r == -EPIPE)
		return r;
	n->asked = false;
	n->asked_file = NULL;
	note_answer(n, r);
	if (!f)
		return 0;
	f->spent_ns += clock_monotonic_ns() - n->asked_ns;
	if (r == 0)
		store_answer(n, f, n->asked_address);
	else if (r != -ENOENT && r != -ECONNRESET)
		fail(n, f);
	return 0;
}

/* ---- while a profile is being built ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Whether the profile may wait for an answer about this file. */
static bool may_wait(struct native_lines *n, const struct native_lines_file *f, int *ret_error)
{
	if (n->asked)
		*ret_error = collect(n, 0);
	return !n->asked && n->left_ns > 0 && *f->left_ns > 0 &&
	       f->size_bytes <= NATIVE_LINES_AT_ONCE_MAX_BYTES &&
	       line_budget_has(&n->budget, clock_monotonic_ns(), true);
}

static int ask(struct native_lines *n, const struct later_file *f, struct address a,
	       uint32_t cpu_ms)
{
	const struct line_question q = {.file = f->number,
					.fd = f->fd,
					.size_bytes = f->size_bytes,
					.vaddr = a.vaddr,
					.cpu_ms = cpu_ms,
					.package_fd = f->package_fd};
	int r = line_reader_ask(n->reader, &q);

	n->asked = r == 0;
	n->asked_address = a;
	n->last_file = f->number;
	n->asked_ns = clock_monotonic_ns();
	return r;
}

/* As native_lines_find(), but -EAGAIN if the time is up before there is an answer. */
static int ask_at_once(struct native_lines *n, const struct native_lines_file *f, struct address a,
		       const char *function, const struct symbol_location **ret)
{
	const struct later_file file = {.number = f->number,
					.fd = f->fd,
					.package_fd = f->package_fd,
					.size_bytes = f->size_bytes};
	uint64_t begin_ns = clock_monotonic_ns(), spent_ns;
	int r = ask(n, &file, a, n->patience > 1 ? CPU_LATER_MS : CPU_AT_ONCE_MS);

	if (r == 0)
		r = line_reader_wait(n->reader, least(n->left_ns, *f->left_ns) * n->patience,
				     &n->answer);
	spent_ns = (clock_monotonic_ns() - begin_ns) / n->patience;
	n->left_ns -= least(spent_ns, n->left_ns);
	*f->left_ns -= least(spent_ns, *f->left_ns);
	if (r == -EAGAIN)
		return r;
	n->asked = false;
	note_answer(n, r);
	if (r == -ETIMEDOUT || r == -ECONNRESET)
		return -EAGAIN; /* there is more time later, or a new process */
	return r < 0 ? r
		     : store_location(n->cache, &n->answer, f->label, function, &n->memory, ret);
}

int native_lines_find(struct native_lines *n, const struct native_lines_file *f, uint64_t vaddr,
		      const char *function, const struct symbol_location **ret)
{
	const struct address address = {
		.vaddr = vaddr, .weight = f->weight, .named = function != NULL};
	const struct later_file *later = find_later(n, f->number);
	int r = 0;

	if (later && later->failed)
		return -EIO;
	if (f->size_bytes > LINE_READER_FILE_MAX_BYTES) {
		count(SYMBOL_METRIC_LINES_TOO_BIG);
		return -EFBIG;
	}
	if (may_wait(n, f, &r)) {
		r = ask_at_once(n, f, address, function, ret);
		if (r != -EAGAIN)
			return r;
		/* if it is still being answered, it is not asked again */
		if (n->asked) {
			n->asked_file = get_later(n, f);
			count(n->asked_file ? SYMBOL_METRIC_LINES_LATE
					    : SYMBOL_METRIC_LINES_NO_ROOM);
			return n->asked_file ? -EINPROGRESS : -EAGAIN;
		}
	}
	return r == -EPIPE ? r : ask_later(n, f, address);
}

void native_lines_end_cycle(struct native_lines *n)
{
	n->left_ns = n->budget.limited ? LIMITED_CYCLE_NS : CYCLE_NS;
}

/* ---- between profiles ---- */

static void begin_minute(struct native_lines *n)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (n->minute_start_ns != 0 && now_ns - n->minute_start_ns < MINUTE_NS)
		return;
	n->minute_start_ns = now_ns;
	n->spent_ns = 0;
	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++)
		n->later[i].spent_ns = 0;
}

static int heaviest_first(const void *a, const void *b)
{
	const struct address *x = *(struct address *const *)a, *y = *(struct address *const *)b;

	return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : 0;
}

/* Without memory, the order stays as it is. */
static void sort_addresses(struct later_file *f)
{
	AUTO_FREE struct address **all = NULL;
	size_t n = 0;

	if (f->sorted)
		return;
	f->sorted = true;
	for (const struct address *a = f->first; a; a = a->next)
		n++;
	all = n > 1 ? calloc(n, sizeof(struct address *)) : NULL;
	if (!all)
		return;
	n = 0;
	for (struct address *a = f->first; a; a = a->next)
		all[n++] = a;
	qsort(all, n, sizeof(struct address *), heaviest_first);
	f->first = NULL;
	while (n-- > 0) {
		all[n]->next = f->first;
		f->first = all[n];
	}
}

/* The file with the heaviest address, but rather the one that was asked about last. */
static struct later_file *choose_heaviest(struct native_lines *n)
{
	struct later_file *chosen = NULL, *last = NULL;

	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++) {
		struct later_file *f = &n->later[i];

		if (!f->first || f->spent_ns >= FILE_MINUTE_NS)
			continue;
		sort_addresses(f);
		if (f->number == n->last_file)
			last = f;
		if (!chosen || !chosen->first ||
		    (f->first && f->first->weight > chosen->first->weight))
			chosen = f;
	}
	if (!last || !chosen || !last->first || !chosen->first)
		return chosen;
	return chosen->first->weight / HEAVIER > last->first->weight ? chosen : last;
}

/* The file that is asked about next, or NULL. */
static struct later_file *choose_file(struct native_lines *n)
{
	struct later_file *chosen = NULL;

	if (n->spent_ns >= ALL_MINUTE_NS ||
	    !line_budget_has(&n->budget, clock_monotonic_ns(), false))
		return NULL;
	if (n->budget.limited)
		return choose_heaviest(n);
	for (size_t i = 0; i < NATIVE_LINES_FILES_MAX; i++) {
		struct later_file *f = &n->later[i];

		if (f->first && f->spent_ns < FILE_MINUTE_NS &&
		    (!chosen || f->spent_ns < chosen->spent_ns))
			chosen = f;
	}
	if (chosen)
		sort_addresses(chosen);
	return chosen;
}

/* Asks the next question. Returns 1, 0 if there is none, or an error. */
static int ask_next(struct native_lines *n)
{
	struct later_file *f = choose_file(n);
	struct address a;
	int r;

	if (!f)
		return 0;
	a = take_first(n, f);
	r = ask(n, f, a, CPU_LATER_MS);
	if (r == 0)
		n->asked_file = f;
	else if (r != -EPIPE)
		fail(n, f);
	return r == -EPIPE ? r : 1;
}

int native_lines_work(struct native_lines *n, uint64_t timeout_ns)
{
	uint64_t begin_ns = clock_monotonic_ns(), spent_ns = 0;
	int r = 1;

	begin_minute(n);
	while (r > 0 && spent_ns < timeout_ns) {
		if (!n->asked)
			r = ask_next(n);
		if (n->asked)
			r = collect(n, timeout_ns - spent_ns) == -EPIPE ? -EPIPE : 1;
		spent_ns = clock_monotonic_ns() - begin_ns;
	}
	n->spent_ns += spent_ns;
	metric_set(&symbol_metrics[SYMBOL_METRIC_LINES_WAITING], n->n_addresses);
	return r;
}
