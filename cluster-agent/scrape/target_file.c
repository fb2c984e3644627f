#include "cluster-agent/scrape/target_file.h"

#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/scrape/scraper.h"
#include "cluster-agent/scrape/static_targets.h"
#include "common/data/buf.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"

struct target_file {
	struct scraper *scraper;
	const char *path;
	bool kinds[PROFILE_KIND_MAX];
	struct file_stamp stamp; /* of the content that was read last, whatever became of it */
	struct arena arena;      /* of targets */
	struct static_targets targets;
	struct err problem;
};

static int by_uid(const void *a, const void *b)
{
	const struct scrape_target *x = a, *y = b;

	return strcmp(x->uid, y->uid);
}

static int parse(struct target_file *f, struct arena *arena, struct static_targets *ret,
		 struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, STATIC_TARGETS_FILE_BYTES);
	r = fs_read_at(AT_FDCWD, f->path, &text);
	if (r == -EFBIG)
		return err_set(err, r, "%s is larger than %zu bytes", f->path,
			       STATIC_TARGETS_FILE_BYTES);
	if (r < 0)
		return err_set(err, r, "cannot read %s: %s", f->path, strerror(-r));
	r = static_targets_parse(ret, arena, text.data ?: "", text.len, f->kinds, err);
	if (r == -EBADMSG) {
		struct err inner = *err;

		return err_set(err, r, "%s:%s", f->path, inner.msg);
	}
	if (r < 0 && !err->msg[0])
		return err_set(err, r, "%s: %s", f->path, strerror(-r));
	return r;
}

static void remove_missing(struct target_file *f, const struct static_targets *now)
{
	for (size_t i = 0; i < f->targets.n; i++)
		if (now->n == 0 || !bsearch(&f->targets.targets[i], now->targets, now->n,
					    sizeof(now->targets[0]), by_uid))
			scraper_remove(f->scraper, f->targets.targets[i].uid);
}

/* The targets that could be taken in are kept, even if another could not. */
static int apply(struct target_file *f, struct static_targets *now, struct err *err)
{
	int result = 0;

	if (now->n > 0)
		qsort(now->targets, now->n, sizeof(now->targets[0]), by_uid);
	remove_missing(f, now);
	for (size_t i = 0; i < now->n; i++) {
		const struct scrape_target *t = &now->targets[i];
		int r = scraper_upsert(f->scraper, t);

		if (r < 0)
			result = err_set(err, r, "%s: target %s of job %s: %s", f->path, t->pod,
					 t->namespace, strerror(-r));
	}
	scraper_drop_settings(f->scraper);
	return result;
}

static int load(struct target_file *f, struct err *err)
{
	struct static_targets now = {0};
	struct arena arena;
	int r;

	f->stamp = file_stamp(f->path);
	arena_init(&arena, STATIC_TARGETS_ARENA_BYTES);
	r = parse(f, &arena, &now, err);
	if (r < 0) {
		arena_fini(&arena);
		return r;
	}
	r = apply(f, &now, err);
	arena_fini(&f->arena);
	f->arena = arena;
	f->targets = now;
	return r;
}

void target_file_beat(struct target_file *f)
{
	struct file_stamp stamp = file_stamp(f->path);

	if (file_stamp_equal(&stamp, &f->stamp))
		return;
	f->problem.msg[0] = '\0';
	if (load(f, &f->problem) < 0)
		log_warn("cannot use the changed file of targets", "error=%s",
			 LOG_QUOTED(f->problem.msg));
	else
		log_info("read the changed file of targets", "file=%s targets=%zu",
			 LOG_QUOTED(f->path), f->targets.n);
}

const char *target_file_problem(const struct target_file *f)
{
	return f->problem.msg;
}

size_t target_file_count(const struct target_file *f)
{
	return f->targets.n;
}

int target_file_new(struct target_file **ret, struct scraper *s, const char *path,
		    const bool default_kinds[static PROFILE_KIND_MAX], struct err *err)
{
	CLEANUP(target_file_freep) struct target_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->scraper = s;
	f->path = path;
	memcpy(f->kinds, default_kinds, sizeof(f->kinds));
	arena_init(&f->arena, STATIC_TARGETS_ARENA_BYTES);
	r = load(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void target_file_free(struct target_file *f)
{
	if (!f)
		return;
	arena_fini(&f->arena);
	free(f);
}
