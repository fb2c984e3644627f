#include "test/lib/played_jvm.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "test/lib/unit.h"

/* ---- the JVM ---- */

static void put64(char *to, uint64_t v)
{
	v = htobe64(v);
	memcpy(to, &v, sizeof(v));
}

/* What async-profiler writes when a chunk begins. */
static void begin_chunk(struct played_jvm *f)
{
	char header[PLAYED_JVM_HEADER_BYTES] = "FLR";

	put64(header + 8, 1 << 30);
	assert_int_equal(pwrite(f->fd, header, sizeof(header), f->at), sizeof(header));
}

static void complete_chunk(struct played_jvm *f)
{
	/* the settings are in the first one only */
	unsigned which = f->n_chunks++ == 0 ? 0 : 1;
	uint64_t size = f->chunk_size[which];
	char *chunk = malloc(size);

	assert_non_null(chunk);
	memcpy(chunk, f->recording.data + f->chunk_at[which], size);
	put64(chunk + 32, f->clock_ns);
	put64(chunk + 40, PLAYED_JVM_CHUNK_NS);
	if (f->is_endless)
		put64(chunk + 16, 0);
	if (f->is_garbage)
		memset(chunk + PLAYED_JVM_HEADER_BYTES, 0xff, size - PLAYED_JVM_HEADER_BYTES);
	f->clock_ns += PLAYED_JVM_CHUNK_NS;
	assert_int_equal(pwrite(f->fd, chunk, size, f->at), size);
	f->at += (off_t)size;
	free(chunk);
}

static void end_recording(struct played_jvm *f)
{
	complete_chunk(f);
	closep(&f->fd);
	f->fd = -1;
	f->is_running = false;
}

void played_jvm_expire(struct played_jvm *f)
{
	end_recording(f);
}

static void write_log(const char *options, const char *error)
{
	const char *log = strstr(options, ",log=");
	char path[PATH_MAX];
	FILE *file;

	if (!log)
		return;
	log += strlen(",log=");
	(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(log, ","), log);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fprintf(file, "[ERROR] %s\n", error) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Why async-profiler does not start, in its words; NULL: it does. */
static const char *start_error(struct played_jvm *f, const char *options)
{
	if (f->start_code != 0 || f->is_running)
		return "No such luck";
	if (f->n_refused > 0) {
		f->n_refused--;
		return "No such luck";
	}
	if (f->has_no_timers && strstr(options, "event=ctimer"))
		return "Failed to create CPU timer";
	if (f->has_no_allocs && strstr(options, ",alloc="))
		return "No AllocTracer symbols found. Are JDK debug symbols installed?";
	return NULL;
}

static int do_start(struct played_jvm *f, const char *options)
{
	const char *file = strstr(options, ",file=") + strlen(",file=");
	const char *error = start_error(f, options);

	f->n_starts++;
	if (error) {
		write_log(options, error);
		return 200;
	}
	f->has_allocs = strstr(options, ",alloc=") != NULL;
	f->has_timers = strstr(options, "event=ctimer") != NULL;
	f->fd = open(file, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(f->fd >= 0);
	f->is_running = true;
	f->at = 0;
	f->n_chunks = 0;
	begin_chunk(f);
	return 0;
}

static int agent_on_attach(struct played_jvm *f, const char *options)
{
	if (strncmp(options, "start,", 6) == 0)
		return do_start(f, options);
	if (strncmp(options, "version,", 8) == 0)
		return 0;
	assert_non_null(strstr(options, "loglevel=none"));
	if (strncmp(options, "stop,", 5) == 0) {
		if (!f->is_running)
			return 200;
		end_recording(f);
		return 0;
	}
	assert_int_equal(strncmp(options, "dump,jfr,", 9), 0);
	if (f->is_running) {
		complete_chunk(f);
		begin_chunk(f);
	}
	return 0;
}

/* ---- the port ---- */

static int check(void *ctx, struct jvm_failure *why)
{
	struct played_jvm *f = ctx;

	*why = f->check_why;
	return f->check_error;
}

static int check_profilers(void *ctx, struct jvm_failure *why)
{
	const struct played_jvm *f = ctx;

	return f->has_other_profiler ? jvm_failure_set(why, JAVA_STATE_FOREIGN_PROFILER, -EPERM,
						       "another one is loaded")
				     : 0;
}

static int find(void *ctx, struct jvm_failure *why)
{
	const struct played_jvm *f = ctx;

	(void)why;
	return access(f->dir, F_OK) == 0 && f->has_dir ? 0 : -ENOENT;
}

static int prepare(void *ctx, unsigned skip, struct jvm_failure *why)
{
	struct played_jvm *f = ctx;

	if (f->prepare_error < 0) {
		why->state = JAVA_STATE_NO_PLACE;
		return f->prepare_error;
	}
	f->kind = JVM_PLACE_TMP;
	while (skip >> f->kind & 1)
		f->kind++;
	if (f->kind == JVM_PLACES) {
		why->state = JAVA_STATE_NO_PLACE;
		return -ENOENT;
	}
	(void)mkdir(f->dir, 0700);
	f->has_dir = true;
	return 0;
}

static const char *dir(void *ctx)
{
	const struct played_jvm *f = ctx;

	return f->dir;
}

static enum jvm_place_kind kind(void *ctx)
{
	const struct played_jvm *f = ctx;

	return f->kind;
}

static int command(void *ctx, const char *options, struct attach_answer *ret,
		   struct jvm_failure *why)
{
	struct played_jvm *f = ctx;

	f->n_commands++;
	(void)snprintf(f->last, sizeof(f->last), "%.*s", (int)strcspn(options, ","), options);
	why->state = JAVA_STATE_UNRESPONSIVE;
	if (f->command_error < 0 && !f->is_lost)
		return f->command_error;
	ret->outcome = f->kind == f->not_loaded_from ? ATTACH_NOT_LOADED : f->outcome;
	if (ret->outcome == ATTACH_LOADED)
		ret->code = agent_on_attach(f, options);
	return f->command_error;
}

static int each_file(void *ctx, int (*fn)(void *fn_ctx, const char *name, uint64_t size),
		     void *fn_ctx)
{
	const struct played_jvm *f = ctx;
	DIR *d = opendir(f->dir);
	const struct dirent *e;
	int r = 0;

	assert_non_null(d);
	while (r == 0 && (e = readdir(d)))
		r = fn(fn_ctx, e->d_name, 0);
	closedir(d);
	return r;
}

static const char *path_of(const struct played_jvm *f, const char *name, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s/%s", f->dir, name);
	return path;
}

static int open_file(void *ctx, const char *name)
{
	char path[PATH_MAX];
	int fd = open(path_of(ctx, name, path), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int rename_file(void *ctx, const char *from, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];

	return rename(path_of(ctx, from, a), path_of(ctx, to, b)) < 0 ? -errno : 0;
}

static int unlink_file(void *ctx, const char *name)
{
	char path[PATH_MAX];

	return unlink(path_of(ctx, name, path)) < 0 && errno != ENOENT ? -errno : 0;
}

static int remove_dir(void *ctx)
{
	struct played_jvm *f = ctx;

	f->has_dir = false;
	return remove_tree(f->dir);
}

static void close_dir(void *ctx)
{
	(void)ctx;
}

static bool is_alive(void *ctx, pid_t pid, uint64_t start_time)
{
	const struct played_jvm *f = ctx;

	if (pid == PLAYED_JVM_AGENT_PID)
		return start_time == f->step.agent_start_time;
	return pid == PLAYED_JVM_OTHER_PID && f->is_other_alive;
}

static const struct java_port_ops ops = {
	.check = check,
	.check_profilers = check_profilers,
	.find = find,
	.prepare = prepare,
	.dir = dir,
	.kind = kind,
	.command = command,
	.each_file = each_file,
	.open_file = open_file,
	.rename_file = rename_file,
	.unlink_file = unlink_file,
	.remove = remove_dir,
	.close = close_dir,
	.is_alive = is_alive,
};

/* ---- the fixture ---- */

static int emit(void *ctx, enum java_profile kind, struct java_pprof *p)
{
	struct played_jvm *f = ctx;
	struct played_jvm_emitted *e = &f->emitted[f->n_emitted];
	struct arena arena;
	struct profile decoded;

	if (f->emit_error < 0)
		return f->emit_error;
	assert_true(f->n_emitted++ < PLAYED_JVM_MAX_EMITTED);
	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(pprof_decode(&decoded, &arena, p->pprof.data, p->pprof.len, NULL), 0);
	*e = (struct played_jvm_emitted){.kind = kind,
					 .start_ns = decoded.time_ns - decoded.duration_ns,
					 .end_ns = decoded.time_ns,
					 .period = decoded.period};
	for (uint32_t i = 0; i < decoded.n_samples; i++)
		for (uint32_t v = 0; v < decoded.n_types; v++)
			e->sums[v] += decoded.samples[i].values[v];
	arena_fini(&arena);
	return 0;
}

static void load_recording(struct played_jvm *f)
{
	CLEANUP(buf_fini) struct buf in;
	uint64_t at = 0, be;

	buf_init(&in, MIB);
	buf_init(&f->recording, MIB);
	assert_int_equal(fs_read_at(AT_FDCWD, "test/data/java_two_chunks.jfr.gz", &in), 0);
	assert_int_equal(gzip_inflate(in.data, in.len, &f->recording), 0);
	for (unsigned i = 0; i < PLAYED_JVM_CHUNKS; i++) {
		memcpy(&be, f->recording.data + at + 8, sizeof(be));
		f->chunk_at[i] = at;
		f->chunk_size[i] = be64toh(be);
		at += f->chunk_size[i];
	}
	assert_int_equal(at, f->recording.len);
}

void played_jvm_setup(struct played_jvm *f)
{
	*f = (struct played_jvm){
		.fd = -1,
		.clock_ns = clock_realtime_ns() - 3600 * NS_PER_S,
		.not_loaded_from = JVM_PLACES,
		.outcome = ATTACH_LOADED,
		.plan = {.enabled = true, .interval_ns = PLAYED_JVM_INTERVAL_NS},
		.settings = {.cpu_interval_ns = 10000000,
			     .alloc_interval_bytes = 2000000,
			     .lock_interval_ns = 10000000},
	};
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/test-java-session-%d", (int)getpid());
	load_recording(f);
	f->port = (struct java_port){&ops, f};
	f->step = (struct java_step){
		.port = &f->port,
		.plan = &f->plan,
		.settings = &f->settings,
		.agent_pid = PLAYED_JVM_AGENT_PID,
		.agent_start_time = 7,
		.now_ns = 1000 * NS_PER_S,
		.metrics = f->metrics,
		.emit = emit,
		.emit_ctx = f,
	};
	java_session_init(&f->session);
	java_plan_init(&f->session.plan, &f->plan, f->step.now_ns, f->step.now_ns);
}

void played_jvm_teardown(struct played_jvm *f)
{
	java_session_fini(&f->session);
	closep(&f->fd);
	buf_fini(&f->recording);
	(void)remove_tree(f->dir);
}
