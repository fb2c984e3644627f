/*
 * What the write-ahead log costs on a disk: latency of an upload that comes alone, and uploads per
 * second when several threads append. A reader commits segments as they are closed, without a
 * store.
 *
 *	log_append [folder [seconds]]
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "cluster-agent/wal/upload_log.h"
#include "common/system/clock.h"

#define MAX_LATENCIES 1000000u
/* Uploads of one thread that wait for their answers at the same time. */
#define WINDOW 64

static struct upload_log *upload_log;
static atomic_bool is_over;
static atomic_ullong last_id;

struct window {
	sem_t room;
};

static void on_done(void *ctx, int result)
{
	struct window *w = ctx;

	if (result < 0) {
		fprintf(stderr, "not written: %s\n", strerror(-result));
		exit(1);
	}
	sem_post(&w->room);
}

static bool append(const char *bytes, size_t len, struct window *w)
{
	const struct logged_frames f = {
		.table = STORE_SAMPLES,
		.frame = {.data = bytes, .len = len, .n_rows = 1, .n_bytes = (uint32_t)len},
	};
	struct upload_id id = {.low = atomic_fetch_add(&last_id, 1) + 1, .high = 1};

	return upload_log_append(upload_log, id, &f, 1, on_done, w) == 0;
}

/* ---- alone ---- */

static void measure_alone(size_t len, uint64_t for_ns)
{
	AUTO_FREE uint64_t *latencies = calloc(MAX_LATENCIES, sizeof(*latencies));
	AUTO_FREE char *bytes = calloc(1, len);
	uint64_t end_ns = clock_monotonic_ns() + for_ns;
	static struct window w; /* sem_post() uses it a little longer than sem_wait() */
	size_t n = 0;

	sem_init(&w.room, 0, 0);
	while (latencies && bytes && n < MAX_LATENCIES && clock_monotonic_ns() < end_ns) {
		uint64_t start_ns = clock_monotonic_ns();

		if (!append(bytes, len, &w))
			continue;
		sem_wait(&w.room);
		latencies[n++] = clock_monotonic_ns() - start_ns;
	}
	if (n == 0)
		exit(1);
	for (size_t i = 1; i < n; i++) {
		uint64_t v = latencies[i];
		size_t at = i;

		for (; at > 0 && latencies[at - 1] > v; at--)
			latencies[at] = latencies[at - 1];
		latencies[at] = v;
	}
	printf("alone    %7zu bytes: %6zu uploads, median %.2f ms, 99 %% below %.2f ms\n", len, n,
	       (double)latencies[n / 2] / 1e6, (double)latencies[n * 99 / 100] / 1e6);
}

/* ---- together ---- */

struct sender {
	struct window window;
	pthread_t thread;
	size_t len;
	uint64_t n;
};

static void *send_all(void *ctx)
{
	struct sender *s = ctx;
	AUTO_FREE char *bytes = calloc(1, s->len);

	sem_init(&s->window.room, 0, WINDOW);
	while (bytes && !is_over) {
		sem_wait(&s->window.room);
		while (!append(bytes, s->len, &s->window))
			usleep(1000);
		s->n++;
	}
	for (int i = 0; i < WINDOW; i++)
		sem_wait(&s->window.room);
	return NULL;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void measure_together(unsigned n_threads, size_t len, uint64_t for_ns)
{
	static struct sender senders[16];
	double cpu = cpu_s();
	uint64_t n = 0;

	memset(senders, 0, sizeof(senders));
	is_over = false;
	for (unsigned i = 0; i < n_threads; i++) {
		senders[i].len = len;
		if (pthread_create(&senders[i].thread, NULL, send_all, &senders[i]) != 0)
			exit(1);
	}
	usleep((unsigned)(for_ns / 1000));
	is_over = true;
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_join(senders[i].thread, NULL);
		n += senders[i].n;
	}
	printf("%u threads %7zu bytes: %.0f uploads/s, %.1f MB/s, %.2f CPU s per s\n", n_threads,
	       len, (double)n * 1e9 / (double)for_ns, (double)(n * len) * 1e3 / (double)for_ns,
	       (cpu_s() - cpu) * 1e9 / (double)for_ns);
}

static void *commit_all(void *ctx)
{
	struct log_segment *s;

	(void)ctx;
	while ((s = upload_log_next(upload_log, UINT64_MAX)) != NULL) {
		struct err err = {0};

		if (upload_log_commit(upload_log, s, NULL, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			exit(1);
		}
		/* as the drain does, which inserts once a second under load */
		usleep(200000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "/tmp";
	uint64_t for_ns = NS_PER_S * (argc > 2 ? strtoull(argv[2], NULL, 10) : 3);
	struct upload_log_config cfg = {0};
	struct err err = {0};
	char dir[256], command[300];
	pthread_t reader;

	snprintf(dir, sizeof(dir), "%s/log_append.XXXXXX", folder);
	if (!mkdtemp(dir))
		return 1;
	cfg.dir = dir;
	if (upload_log_open(&upload_log, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (pthread_create(&reader, NULL, commit_all, NULL) != 0)
		return 1;
	measure_alone(2000, for_ns);
	measure_alone(200000, for_ns);
	measure_together(1, 2000, for_ns);
	measure_together(4, 2000, for_ns);
	measure_together(4, 20000, for_ns);
	measure_together(4, 200000, for_ns);
	upload_log_stop(upload_log);
	pthread_join(reader, NULL);
	upload_log_close(upload_log);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command) == 0 ? 0 : 1;
}
