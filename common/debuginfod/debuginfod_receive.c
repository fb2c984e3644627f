#include "common/debuginfod/debuginfod_receive.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/system/clock.h"

/* A server may have to unpack a large package before the first byte. */
#define IDLE_TIMEOUT_NS (90 * NS_PER_S)
#define TIMEOUT_NS (900 * NS_PER_S)
#define REDIRECTS_MAX 3u
/* The rest of the disk belongs to others. */
#define DISK_FREE_MIN_PERCENT 5u
#define DISK_CHECK_BYTES (UINT64_C(16) << 20)

struct debuginfod_receive {
	struct debuginfod_receive_config cfg; /* its texts are not valid any more */
	struct http_transfer *transfer;
	char *url;
	unsigned n_redirects;
	uint64_t n_bytes;
	int error; /* of writing */
};

static bool is_disk_full(int fd)
{
	struct statvfs s;

	return fstatvfs(fd, &s) == 0 && s.f_bavail < s.f_blocks / 100 * DISK_FREE_MIN_PERCENT;
}

static int on_data(void *ctx, const char *data, size_t len)
{
	struct debuginfod_receive *r = ctx;
	uint64_t before = r->n_bytes;

	r->n_bytes += len;
	if (r->n_bytes > r->cfg.max_bytes)
		return r->error = -EFBIG;
	if ((before == 0 || before / DISK_CHECK_BYTES != r->n_bytes / DISK_CHECK_BYTES) &&
	    is_disk_full(r->cfg.fd))
		return r->error = -ENOSPC;
	r->cfg.on_bytes(r->cfg.ctx, len);
	while (len > 0) {
		ssize_t n = write(r->cfg.fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return r->error = -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static void on_done(void *ctx, const struct http_result *result);

static int request(struct debuginfod_receive *r)
{
	const struct http_request q = {
		.method = "GET",
		.url = r->url,
		.timeout_ns = TIMEOUT_NS,
		.idle_timeout_ns = IDLE_TIMEOUT_NS,
		.max_response_bytes = 4096,
		.on_data = on_data,
	};

	return http_start(r->cfg.client, &q, on_done, r, &r->transfer);
}

/* Frees r. */
static void end(struct debuginfod_receive *r, const struct debuginfod_received *received)
{
	struct debuginfod_receive_config cfg = r->cfg;

	debuginfod_receive_cancel(r);
	cfg.done(cfg.ctx, received);
}

static void end_with(struct debuginfod_receive *r, enum debuginfod_outcome outcome)
{
	end(r, &(struct debuginfod_received){.outcome = outcome});
}

static void end_failed(struct debuginfod_receive *r, const char *problem, uint64_t retry_after_ns)
{
	end(r, &(struct debuginfod_received){DEBUGINFOD_SERVER_FAILED, problem, retry_after_ns});
}

static void follow(struct debuginfod_receive *r, const struct http_result *result)
{
	char *url = NULL;
	int e;

	if (++r->n_redirects > REDIRECTS_MAX ||
	    debuginfod_redirect(&url, r->url, http_result_header(result, "Location")) < 0) {
		end_failed(r, "it redirects to nowhere", 0);
		return;
	}
	free(r->url);
	r->url = url;
	e = request(r);
	if (e < 0)
		end_failed(r, strerror(-e), 0);
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct debuginfod_receive *r = ctx;
	char problem[160];

	r->transfer = NULL;
	if (r->error < 0) {
		end_with(r, r->error == -EFBIG ? DEBUGINFOD_IS_TOO_LARGE : DEBUGINFOD_NO_DISK);
	} else if (result->error < 0) {
		snprintf(problem, sizeof(problem), "%s", result->msg ?: strerror(-result->error));
		end_failed(r, problem, 0);
	} else if (result->status == 200) {
		end_with(r, DEBUGINFOD_IS_THERE);
	} else if (result->status == 404 || result->status == 410) {
		end_with(r, DEBUGINFOD_IS_ABSENT);
	} else if (result->status >= 301 && result->status <= 308) {
		follow(r, result);
	} else {
		snprintf(problem, sizeof(problem), "HTTP %d", result->status);
		end_failed(r, problem, result->retry_after_ns);
	}
}

int debuginfod_receive_start(struct debuginfod_receive **ret,
			     const struct debuginfod_receive_config *cfg)
{
	struct debuginfod_receive *r = calloc(1, sizeof(*r));
	int e;

	*ret = NULL;
	if (!r)
		return -ENOMEM;
	r->cfg = *cfg;
	e = debuginfod_url_of(&r->url, cfg->server, cfg->build_id, cfg->file);
	if (e == 0)
		e = request(r);
	if (e < 0) {
		debuginfod_receive_cancel(r);
		return e;
	}
	*ret = r;
	return 0;
}

void debuginfod_receive_cancel(struct debuginfod_receive *r)
{
	if (!r)
		return;
	http_cancel(r->transfer);
	free(r->url);
	free(r);
}
