#include "test/lib/runtime_fixture.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define POLL_NS (5 * NS_PER_MS)
#define GIVE_UP_NS (300 * NS_PER_S)
#define LOG_BYTES 65536

static void on_poll(void *ctx)
{
	struct runtime_fixture *f = ctx;

	if (f->is_done(f->ctx))
		loop_stop(f->loop);
	else
		loop_set_timer(f->poll, POLL_NS);
	if (process_table_scan(f->processes) < 0)
		loop_stop(f->loop);
}

static void on_give_up(void *ctx)
{
	struct runtime_fixture *f = ctx;

	f->is_late = true;
	loop_stop(f->loop);
}

void runtime_fixture_begin(struct runtime_fixture *f)
{
	*f = (struct runtime_fixture){.root = temp_dir()};
	assert_int_equal(chmod(f->root, 0755), 0);
	assert_int_equal(process_table_new(&f->processes,
					   &(struct process_table_config){.proc_root = f->root},
					   NULL),
			 0);
}

int runtime_fixture_start(struct runtime_fixture *f)
{
	int r = loop_new(&f->loop);

	if (r == 0)
		r = process_table_scan(f->processes) < 0 ? -EIO : 0;
	if (r == 0)
		r = metrics_new(&f->ms);
	if (r == 0)
		r = loop_add_timer(f->loop, on_poll, f, &f->poll);
	return r == 0 ? loop_add_timer(f->loop, on_give_up, f, &f->give_up) : r;
}

void runtime_fixture_stop(struct runtime_fixture *f)
{
	loop_free(TAKE_PTR(f->loop));
	metrics_free(TAKE_PTR(f->ms));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void runtime_fixture_end(struct runtime_fixture *f)
{
	process_table_free(f->processes);
	assert_int_equal(nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void runtime_fixture_show(const struct runtime_fixture *f, pid_t pid)
{
	char link[96], target[32];

	(void)snprintf(link, sizeof(link), "%s/%d", f->root, (int)pid);
	(void)snprintf(target, sizeof(target), "/proc/%d", (int)pid);
	assert_int_equal(symlink(target, link), 0);
}

void runtime_fixture_hide(const struct runtime_fixture *f, pid_t pid)
{
	char link[96];

	(void)snprintf(link, sizeof(link), "%s/%d", f->root, (int)pid);
	(void)unlink(link);
}

bool runtime_fixture_work(struct runtime_fixture *f, bool (*is_done)(void *ctx), void *ctx)
{
	f->is_done = is_done;
	f->ctx = ctx;
	f->is_late = false;
	loop_set_timer(f->poll, 0);
	loop_set_timer(f->give_up, GIVE_UP_NS);
	return loop_run(f->loop) == 0 && !f->is_late;
}

uint64_t runtime_fixture_metric(const struct runtime_fixture *f, const char *beginning)
{
	CLEANUP(buf_fini) struct buf text;
	uint64_t sum = 0;

	buf_init(&text, LIMIT_UPLOAD_BYTES);
	if (metrics_write(f->ms, &text) < 0 || buf_add(&text, "", 1) < 0)
		abort();
	for (const char *at = text.data; (at = strstr(at, beginning)) != NULL; at++) {
		const char *value = strchr(at, ' ');

		if ((at == (const char *)text.data || at[-1] == '\n') && value)
			sum += strtoull(value, NULL, 10);
	}
	return sum;
}

static char *read_log(int fd)
{
	char *log = calloc(1, LOG_BYTES);

	assert_non_null(log);
	assert_true(pread(fd, log, LOG_BYTES - 1, 0) >= 0);
	return log;
}

void runtime_fixture_show_log(int fd)
{
	char *log = read_log(fd);

	print_error("%s\n", log);
	free(log);
}

unsigned runtime_fixture_count(int fd, const char *text)
{
	char *log = read_log(fd);
	unsigned n = 0;

	for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
		n++;
	free(log);
	return n;
}
