#include "node-agent/java/profile/java_read.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

/*
 * What is beyond is not read. A recording is replaced when it is far smaller, but its JVM is not
 * ours, and the others wait meanwhile.
 */
#define FILE_MAX_BYTES (256 * MIB)
/* The clock of the node may be set meanwhile. */
#define EARLY_MAX_NS (60 * NS_PER_S)
#define AGE_MAX_NS (24 * 3600 * NS_PER_S)

/* A part of a file. */
struct part {
	int fd;
	uint64_t from;
};

static ssize_t read_part(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct part *p = ctx;
	ssize_t n;

	do
		n = pread(p->fd, to, len, (off_t)(p->from + offset));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int ignore(void *ctx, const struct jfr_stack *stack)
{
	(void)ctx;
	(void)stack;
	return 0;
}

/* The settings are in the first chunk only, which an earlier agent has uploaded. */
static void read_settings(int fd, struct java_reading *reading)
{
	struct part part = {fd, 0};
	const struct jfr_source source = {read_part, &part, reading->chunks.from};
	const struct jfr_stacks_config cfg = {ignore, NULL, reading->settings};
	struct jfr_result result;

	if (reading->chunks.from == 0 || reading->settings->cpu_interval_ns != 0)
		return;
	if (jfr_stacks_read(&source, &cfg, &result, NULL) < 0)
		reading->is_broken = true;
}

/* A hostile recording must not put profiles anywhere in time. */
static bool is_plausible(const struct jfr_result *r)
{
	uint64_t now_ns = clock_realtime_ns();

	return r->start_ns <= r->end_ns && r->end_ns <= now_ns + EARLY_MAX_NS &&
	       r->start_ns + AGE_MAX_NS >= now_ns;
}

static int emit_all(struct java_stacks *stacks, const struct java_reading *reading,
		    int (*emit)(void *ctx, enum java_profile kind, struct java_pprof *p), void *ctx)
{
	const struct java_window window = {
		.start_ns = (int64_t)reading->result.start_ns,
		.end_ns = (int64_t)reading->result.end_ns,
		.settings = *reading->settings,
	};
	int r = 0;

	for (int kind = 0; r == 0 && kind < JAVA_PROFILES; kind++) {
		CLEANUP(java_pprof_fini) struct java_pprof p = {0};

		r = java_stacks_finish(stacks, (enum java_profile)kind, &window, &p);
		if (r == 0 && p.pprof.len > 0)
			r = emit(ctx, (enum java_profile)kind, &p);
	}
	return r;
}

static int read_chunks(int fd, struct java_reading *reading,
		       int (*emit)(void *ctx, enum java_profile kind, struct java_pprof *p),
		       void *ctx)
{
	CLEANUP(java_stacks_freep) struct java_stacks *stacks = NULL;
	struct part part = {fd, reading->chunks.from};
	const struct jfr_source source = {read_part, &part,
					  reading->chunks.to - reading->chunks.from};
	struct jfr_stacks_config cfg = {java_stacks_add, NULL, reading->settings};
	struct err err = {""};
	int r = java_stacks_new(&stacks);

	if (r < 0)
		return r;
	cfg.ctx = stacks;
	r = jfr_stacks_read(&source, &cfg, &reading->result, &err);
	reading->totals = *java_stacks_totals(stacks);
	reading->n_lost = java_stacks_n_lost(stacks);
	if (r == -ENOMEM)
		return r;
	reading->is_broken |= r < 0;
	if (r < 0)
		log_warn_limited("a recording of a JVM is broken; its profiles are incomplete",
				 "error=%s", LOG_QUOTED(err.msg[0] ? err.msg : strerror(-r)));
	if (reading->result.n_chunks > 0 && is_plausible(&reading->result))
		return emit_all(stacks, reading, emit, ctx);
	reading->is_broken = true;
	return 0;
}

int java_read(int fd, struct java_reading *reading,
	      int (*emit)(void *ctx, enum java_profile kind, struct java_pprof *p), void *ctx)
{
	struct part part = {fd, 0};
	struct jfr_source source = {read_part, &part, 0};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	source.size_bytes = (uint64_t)st.st_size;
	if (source.size_bytes > FILE_MAX_BYTES)
		source.size_bytes = FILE_MAX_BYTES;
	reading->is_broken =
		java_recording_chunks(&source, reading->n_uploaded, &reading->chunks) < 0;
	if (reading->chunks.to <= reading->chunks.from)
		return 0;
	read_settings(fd, reading);
	return read_chunks(fd, reading, emit, ctx);
}
