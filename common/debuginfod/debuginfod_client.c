#include "common/debuginfod/debuginfod_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/debuginfod/debuginfod_cache.h"
#include "common/debuginfod/debuginfod_receive.h"
#include "common/elf/elf_layout.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/upload/upload_url.h"

#define FILE_NAME "debuginfo"

struct debuginfod_client {
	struct debuginfod_urls urls;
	uint64_t max_file_bytes;
	uint64_t left_ns;
	int cache_fd; /* -1: not opened yet */
	struct loop *loop;
	struct loop_source *wake, *timer;
	struct http_client *http;
	struct debuginfod_receive *receive; /* NULL: none */
	enum debuginfod_outcome outcome;
	bool is_given_up;
	char shown[256]; /* the server that is asked, without a password */
	uint32_t failed; /* servers, as bits, that are not asked any more */
	char problem[512];
	atomic_bool is_stopped, is_late;
	_Atomic uint64_t n_bytes;
	_Atomic uint32_t n_files;
};

/* ---- create and destroy ---- */

static void give_up(struct debuginfod_client *c)
{
	debuginfod_receive_cancel(TAKE_PTR(c->receive));
	c->is_given_up = true;
	loop_stop(c->loop);
}

static void on_wake(void *ctx)
{
	give_up(ctx);
}

static void on_timer(void *ctx)
{
	struct debuginfod_client *c = ctx;

	c->left_ns = 0;
	give_up(c);
}

int debuginfod_client_new(struct debuginfod_client **ret,
			  const struct debuginfod_client_config *cfg, struct err *err)
{
	const struct http_client_config http = {.user_agent = cfg->user_agent};
	CLEANUP(debuginfod_client_freep) struct debuginfod_client *c = calloc(1, sizeof(*c));
	int r;

	*ret = NULL;
	if (!c)
		return -ENOMEM;
	c->max_file_bytes = cfg->max_file_bytes;
	c->left_ns = cfg->time_ns;
	c->cache_fd = -1;
	r = debuginfod_urls_parse(&c->urls, cfg->urls, err);
	if (r < 0 || c->urls.n == 0)
		return r;
	r = loop_new(&c->loop);
	if (r == 0)
		r = loop_add_wake(c->loop, on_wake, c, &c->wake);
	if (r == 0)
		r = loop_add_timer(c->loop, on_timer, c, &c->timer);
	if (r == 0)
		r = http_client_new(&c->http, c->loop, &http);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void debuginfod_client_free(struct debuginfod_client *c)
{
	if (!c)
		return;
	http_client_free(c->http);
	loop_free(c->loop);
	debuginfod_urls_fini(&c->urls);
	closep(&c->cache_fd);
	free(c);
}

void debuginfod_client_stop(struct debuginfod_client *c)
{
	atomic_store(&c->is_stopped, true);
	loop_wake(c->wake);
}

struct debuginfod_client_counts debuginfod_client_counts(const struct debuginfod_client *c)
{
	return (struct debuginfod_client_counts){atomic_load(&c->n_files), atomic_load(&c->n_bytes),
						 atomic_load(&c->is_late)};
}

const char *debuginfod_client_problem(const struct debuginfod_client *c)
{
	return c->problem[0] ? c->problem : NULL;
}

/* ---- the cache ---- */

static void note_problem(struct debuginfod_client *c, const char *of, const char *problem)
{
	if (!c->problem[0])
		snprintf(c->problem, sizeof(c->problem), "%.300s: %.200s", of, problem);
}

/* Opens the cache, which is made if need be, with all folders above it. */
static int open_cache(struct debuginfod_client *c)
{
	char path[DEBUGINFOD_CACHE_PATH_BYTES];
	int r;

	debuginfod_cache_path(path);
	if (!path[0])
		return -ENOENT;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	(void)mkdir(path, 0700);
	c->cache_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->cache_fd >= 0)
		return 0;
	r = -errno;
	note_problem(c, path, strerror(-r));
	return r;
}

/* The folder of the build. Returns a descriptor. */
static int open_folder(const struct debuginfod_client *c, const char *build_id)
{
	int fd;

	if (mkdirat(c->cache_fd, build_id, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(c->cache_fd, build_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whether it is an ELF file of the build: what is not, as a page of a proxy, is not kept. */
static bool is_of_build(int fd, const char *build_id)
{
	AUTO_FREE struct elf_layout *l = malloc(sizeof(*l));
	char text[2 * ELF_BUILD_ID_MAX_BYTES + 1];
	struct byte_source src;
	struct stat st;

	if (!l || fstat(fd, &st) < 0)
		return false;
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	if (elf_layout_parse_debug(l, &src) < 0)
		return false;
	elf_layout_build_id_text(l, text);
	return strcmp(text, build_id) == 0;
}

/* ---- receiving ---- */

static void on_bytes(void *ctx, size_t n)
{
	struct debuginfod_client *c = ctx;

	atomic_fetch_add(&c->n_bytes, n);
}

static void on_received(void *ctx, const struct debuginfod_received *r)
{
	struct debuginfod_client *c = ctx;

	c->receive = NULL;
	c->outcome = r->outcome;
	if (r->outcome == DEBUGINFOD_SERVER_FAILED)
		note_problem(c, c->shown, r->problem);
	else if (r->outcome == DEBUGINFOD_NO_DISK)
		note_problem(c, "the cache of debuginfod's client", "no room");
	loop_stop(c->loop);
}

/* Waits until a server has answered, which returns 0, or the time is up. */
static int receive(struct debuginfod_client *c, const struct debuginfod_receive_config *cfg)
{
	uint64_t begin_ns = clock_monotonic_ns(), spent_ns;
	int r = debuginfod_receive_start(&c->receive, cfg);

	if (r < 0)
		return r;
	loop_set_timer(c->timer, c->left_ns);
	r = loop_run(c->loop);
	loop_set_timer(c->timer, UINT64_MAX);
	spent_ns = clock_monotonic_ns() - begin_ns;
	c->left_ns -= spent_ns < c->left_ns ? spent_ns : c->left_ns;
	if (!c->is_given_up)
		return r;
	c->is_given_up = false;
	atomic_store(&c->is_late, !atomic_load(&c->is_stopped));
	return -ETIMEDOUT;
}

/* From one server, under a name that becomes the right one once all is there. */
static int get_from(struct debuginfod_client *c, size_t server, const char *build_id, int folder)
{
	AUTO_FREE char *name = NULL;
	struct debuginfod_receive_config cfg = {
		.client = c->http,
		.server = c->urls.urls[server],
		.build_id = build_id,
		.file = DEBUGINFOD_DEBUGINFO,
		.max_bytes = c->max_file_bytes,
		.on_bytes = on_bytes,
		.done = on_received,
		.ctx = c,
	};
	AUTO_CLOSE int fd = -1;
	int r;

	if (asprintf(&name, FILE_NAME ".%d", (int)getpid()) < 0)
		return -ENOMEM;
	fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	cfg.fd = fd;
	snprintf(c->shown, sizeof(c->shown), "%s", cfg.server);
	upload_url_remove_user(c->shown);
	r = receive(c, &cfg);
	if (r == 0 && c->outcome == DEBUGINFOD_SERVER_FAILED)
		c->failed |= 1u << server;
	if (r == 0 && (c->outcome != DEBUGINFOD_IS_THERE || !is_of_build(fd, build_id)))
		r = -ENOENT;
	if (r == 0 && renameat(folder, name, folder, FILE_NAME) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, name, 0);
	else
		atomic_fetch_add(&c->n_files, 1);
	return r;
}

int debuginfod_client_get(struct debuginfod_client *c, const char *build_id)
{
	AUTO_CLOSE int folder = -1;
	int r = c->cache_fd < 0 ? open_cache(c) : 0;

	if (r < 0)
		return r;
	if (atomic_load(&c->is_stopped) || c->left_ns == 0)
		return -ETIMEDOUT;
	folder = open_folder(c, build_id);
	if (folder < 0)
		return folder;
	r = -ENOENT;
	for (size_t i = 0; r == -ENOENT && i < c->urls.n; i++)
		if (!(c->failed & 1u << i))
			r = get_from(c, i, build_id, folder);
	if (r < 0) /* if there is nothing in it */
		(void)unlinkat(c->cache_fd, build_id, AT_REMOVEDIR);
	return r;
}
