#include "node-agent/heap/heap_reader.h"

#include <errno.h>
#include <fcntl.h>

#include "common/clock.h"
#include "node-agent/heap/go_buildinfo.h"
#include "node-agent/heap/go_executables.h"
#include "node-agent/heap/go_force.h"
#include "node-agent/heap/heap_profile.h"

#define READ_TIMEOUT_NS (500 * NS_PER_MS)
#define HUNG_PAUSE_NS (60 * NS_PER_S)
#define MINOR_WITHOUT_BYTES 27u

struct heap_reader {
	bool raw;
	bool force;
	int root_fd;
	struct deadline_caller *caller;
	struct go_executables *executables;
	struct memory_windows *windows;
};

/* One process in work. */
struct reading {
	struct heap_reader *reader;
	const struct go_process_id *id; /* borrowed */
	struct go_target target;
	struct go_executable *executable; /* borrowed from the reader's */
	struct go_module *modules;
	size_t n_modules;
	struct go_range text[GO_IMAGE_MODULES_MAX];
	struct heap_bucket_format format;
	struct heap_profile *profile;
	uint64_t rate;
};

int heap_reader_new(struct heap_reader **ret, const struct heap_reader_config *cfg)
{
	CLEANUP(heap_reader_freep) struct heap_reader *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return -ENOMEM;
	r->raw = cfg->raw;
	r->force = cfg->force;
	r->root_fd =
		open(cfg->proc_root ? cfg->proc_root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->root_fd < 0)
		return -errno;
	result = deadline_caller_new(&r->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (result == 0)
		result = go_executables_new(&r->executables);
	if (result == 0)
		result = memory_windows_new(&r->windows);
	if (result < 0)
		return result;
	*ret = TAKE_PTR(r);
	return 0;
}

void heap_reader_free(struct heap_reader *r)
{
	if (!r)
		return;
	memory_windows_free(r->windows);
	go_executables_free(r->executables);
	deadline_caller_free(r->caller);
	closep(&r->root_fd);
	free(r);
}

int heap_reader_root(const struct heap_reader *r)
{
	return r->root_fd;
}

int heap_reader_detect(struct heap_reader *r, const struct go_process_id *id)
{
	struct go_buildinfo info;
	struct go_target t;
	int result;

	result = go_target_open_file(&t, r->root_fd, id, r->caller);
	if (result == -ENOEXEC || result == -EBADMSG)
		return 0;
	if (result < 0)
		return result;
	result = go_buildinfo_find(&info, &t.layout, &t.file);
	go_target_close(&t);
	if (result == -ENOENT || result == -ENODATA)
		return 0;
	return result < 0 ? result : 1;
}

/* Where code is, and the variables: of this process. */
static int find_modules(struct reading *d)
{
	const struct go_image image = {
		.layout = &d->target.layout,
		.file = &d->target.file,
		.memory = &d->target.memory,
		.bias = d->target.bias,
		.minor = d->executable->minor,
	};
	int n;

	d->modules = calloc(GO_IMAGE_MODULES_MAX, sizeof(*d->modules));
	if (!d->modules)
		return -ENOMEM;
	n = go_image_modules(&image, &d->executable->at, d->modules, GO_IMAGE_MODULES_MAX);
	if (n < 0)
		return n;
	d->n_modules = (size_t)n;
	for (size_t i = 0; i < d->n_modules; i++)
		d->text[i] = d->modules[i].text;
	d->format = (struct heap_bucket_format){
		.has_bytes = image.minor < MINOR_WITHOUT_BYTES,
		.text = d->text,
		.n_text = d->n_modules,
	};
	return byte_source_read(&d->target.memory, d->executable->at.rate + d->target.bias,
				&d->rate, sizeof(d->rate));
}

/* Only when neither symbols nor code told; until there is a first record nothing can be found. */
static int find_buckets(struct reading *d)
{
	uint64_t address = 0;
	int r;

	if (d->executable->at.buckets != 0)
		return 0;
	r = go_image_scan_buckets(d->reader->windows, &d->modules[0], &d->format, &address);
	if (r == 0)
		d->executable->at.buckets = address - d->target.bias;
	return r;
}

static int make_profile(struct reading *d)
{
	const struct go_frames_process process = {
		.memory = &d->target.memory,
		.modules = d->modules,
		.n_modules = d->n_modules,
		.bias = d->target.bias,
	};
	const struct heap_profile_config cfg = {
		.symbols = go_frames_symbols(d->executable->frames),
		.max_bytes = HEAP_READER_PROFILE_BYTES,
	};
	int r;

	r = go_frames_begin(d->executable->frames, &process);
	return r == 0 ? heap_profile_new(&d->profile, &cfg) : r;
}

static int on_bucket(void *ctx, const struct heap_bucket *b, uint64_t allocs)
{
	struct reading *d = ctx;

	return heap_profile_add(d->profile, b, allocs);
}

static int read_opened(struct reading *d, struct heap_history *history, int64_t duration_ns,
		       struct buf *out, struct heap_reading *ret)
{
	struct heap_round round = {
		.windows = d->reader->windows,
		.format = &d->format,
		.deadline_ns = clock_monotonic_ns() + HEAP_READER_MAX_NS,
	};
	struct heap_profile_times times = {.duration_ns = duration_ns, .raw = d->reader->raw};
	int r;

	r = find_modules(d);
	if (r < 0)
		return r;
	if (d->reader->force) {
		r = go_force(&d->target, d->id, d->executable, &d->modules[0], GO_FORCE_ON);
		ret->forced = r == 1;
		ret->is_ours = r >= 0;
		if (r == 1)
			return 0;
		/* a program that cannot be forced is read as it is */
		if (r < 0 && r != -ENOTSUP && r != -EALREADY)
			return r;
	}
	ret->off = d->rate == 0 || d->rate > INT64_MAX;
	if (ret->off)
		return 0;
	memory_windows_begin(d->reader->windows, &d->target.memory, HEAP_READER_MAX_BYTES);
	r = find_buckets(d);
	if (r == 0)
		r = make_profile(d);
	if (r < 0)
		return r;
	round.head_address = d->executable->at.buckets + d->target.bias;
	r = heap_history_round(history, &round, on_bucket, d, &ret->round);
	if (r < 0)
		return r;
	times.end_ns = (int64_t)clock_realtime_ns();
	times.rate = d->rate;
	r = go_target_service(&d->target, ret->service);
	if (r == 0)
		r = heap_profile_finish(d->profile, &times, out, &ret->n_samples);
	if (r == 0)
		heap_history_commit(history);
	return r;
}

static void close_reading(struct reading *d)
{
	heap_profile_free(d->profile);
	free(d->modules);
	go_target_close(&d->target);
	free(d);
}
DEFINE_CLEANUP(struct reading *, close_reading);

static int open_reading(struct reading **ret, struct heap_reader *r, const struct go_process_id *id)
{
	struct reading *d = calloc(1, sizeof(*d));
	int result;

	if (!d)
		return -ENOMEM;
	d->reader = r;
	d->id = id;
	result = go_target_open(&d->target, r->root_fd, id, r->caller);
	if (result == 0)
		result = go_executables_get(r->executables, &d->target, &d->executable);
	if (result < 0) {
		close_reading(d);
		return result;
	}
	*ret = d;
	return 0;
}

int heap_reader_read(struct heap_reader *r, const struct go_process_id *id,
		     struct heap_history *history, int64_t duration_ns, struct buf *out,
		     struct heap_reading *ret)
{
	CLEANUP(close_readingp) struct reading *d = NULL;
	int result;

	*ret = (struct heap_reading){0};
	result = open_reading(&d, r, id);
	return result == 0 ? read_opened(d, history, duration_ns, out, ret) : result;
}

int heap_reader_restore(struct heap_reader *r, const struct go_process_id *id)
{
	CLEANUP(close_readingp) struct reading *d = NULL;
	int result;

	result = open_reading(&d, r, id);
	if (result == 0)
		result = find_modules(d);
	if (result < 0)
		return result;
	return go_force(&d->target, id, d->executable, &d->modules[0], GO_FORCE_OFF);
}
