/*
 * Posts profiles as fast as they are answered, over CONNECTIONS connections, and prints a line of
 * JSON.
 *
 *	ingest_flood PORT SECONDS new           random stacks, different in each profile, 30 frames
 *	ingest_flood PORT SECONDS known         the same few profiles of 30 frames again and again
 *	ingest_flood PORT SECONDS FILE.pb.gz …  these, each as a service of its own
 *	ingest_flood PORT 0 …                   each profile once
 *
 * All profiles are made before the first one is sent, so that sending costs little. Each upload
 * ends with a gzip member of its own, with the time, so no two are equal.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/data/gzip.h"
#include "common/pprof/pprof_wire.h"
#include "common/system/clock.h"
#include "test/bench/ingest/bench_uploads.h"

#define CONNECTIONS 32

static struct bench_profile profiles[BENCH_MAX_PROFILES];
static size_t n_profiles;
static bool repeat; /* begin again when all were sent */
static unsigned port;
static uint64_t end_ns;
static _Atomic uint64_t next_upload;
static _Atomic uint64_t n_sent, n_refused, n_stacks, n_bytes, n_inflated;

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int connect_agent(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	require(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
	return fd;
}

/* A gzip member that sets the time of the profile before it. */
static void make_time(struct buf *out, uint64_t number)
{
	CLEANUP(buf_fini) struct buf field;
	struct wire_writer w = {.out = &field};

	buf_init(&field, 64);
	wire_writer_put_number(&w, PPROF_TIME_NANOS, clock_realtime_ns() + number % 1000);
	out->len = 0;
	require(w.error == 0 && gzip_deflate(field.data, field.len, 1, out) == 0, "time");
}

static void write_all(int fd, struct iovec *v, int n)
{
	while (n > 0) {
		ssize_t r = writev(fd, v, n);

		require(r > 0, "write");
		for (; n > 0 && (size_t)r >= v->iov_len; n--, v++)
			r -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + r;
			v->iov_len -= (size_t)r;
		}
	}
}

/* Reads an answer, whose body is short. Returns the status. */
static int read_answer(int fd)
{
	char text[4096];
	size_t len = 0, want = 0;

	while (want == 0 || len < want) {
		ssize_t r = read(fd, text + len, sizeof(text) - 1 - len);
		const char *end, *length;

		require(r > 0, "read");
		len += (size_t)r;
		text[len] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		length = strcasestr(text, "content-length:");
		want = (size_t)(end - text) + 4 + (length ? strtoul(length + 15, NULL, 10) : 0);
	}
	return (int)strtol(text + strlen("HTTP/1.1 "), NULL, 10);
}

static int post(int fd, uint64_t number, const struct bench_profile *p, struct buf *time)
{
	size_t service = (size_t)(p - profiles) % BENCH_N_KNOWN;
	char head[512];
	struct iovec v[3];
	int n;

	make_time(time, number);
	n = snprintf(head, sizeof(head),
		     "POST /v1/profiles?service.name=" BENCH_SERVICE
		     "&host.name=node-1&container.id=" BENCH_CONTAINER
		     "&namespace=bench&pod=" BENCH_POD " HTTP/1.1\r\nHost: agent\r\n"
		     "Idempotency-Key: %016llx%016llx\r\nContent-Length: %zu\r\n\r\n",
		     service, service, (unsigned long long)clock_realtime_ns(),
		     (unsigned long long)number, p->gzipped.len + time->len);
	v[0] = (struct iovec){head, (size_t)n};
	v[1] = (struct iovec){p->gzipped.data, p->gzipped.len};
	v[2] = (struct iovec){time->data, time->len};
	write_all(fd, v, 3);
	return read_answer(fd);
}

static void *run(void *arg)
{
	CLEANUP(buf_fini) struct buf time;
	int fd = connect_agent();

	buf_init(&time, 4096);
	for (;;) {
		uint64_t number = atomic_fetch_add(&next_upload, 1);
		const struct bench_profile *p = &profiles[number % n_profiles];

		if (repeat ? clock_monotonic_ns() >= end_ns : number >= n_profiles)
			break;
		while (post(fd, number, p, &time) != 200) {
			atomic_fetch_add(&n_refused, 1);
			usleep(100000);
		}
		atomic_fetch_add(&n_sent, 1);
		atomic_fetch_add(&n_stacks, p->n_samples);
		atomic_fetch_add(&n_bytes, p->gzipped.len);
		atomic_fetch_add(&n_inflated, p->n_bytes);
	}
	close(fd);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[CONNECTIONS];
	uint64_t start;

	if (argc < 4) {
		fprintf(stderr, "usage: ingest_flood PORT SECONDS new|known|FILE...\n");
		return 1;
	}
	port = (unsigned)strtoul(argv[1], NULL, 10);
	repeat = strtoul(argv[2], NULL, 10) > 0 && strcmp(argv[3], "new") != 0;
	n_profiles = bench_uploads_make(profiles, argv + 3, (size_t)(argc - 3));
	start = clock_monotonic_ns();
	end_ns = start + strtoul(argv[2], NULL, 10) * NS_PER_S;
	for (unsigned i = 0; i < CONNECTIONS; i++)
		require(pthread_create(&threads[i], NULL, run, NULL) == 0, "thread");
	for (unsigned i = 0; i < CONNECTIONS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"seconds\":%.3f,\"uploads\":%llu,\"refused\":%llu,\"stacks\":%llu,\"bytes\":%llu,"
	       "\"inflated\":%llu}\n",
	       (double)(clock_monotonic_ns() - start) / 1e9, (unsigned long long)n_sent,
	       (unsigned long long)n_refused, (unsigned long long)n_stacks,
	       (unsigned long long)n_bytes, (unsigned long long)n_inflated);
	return 0;
}
