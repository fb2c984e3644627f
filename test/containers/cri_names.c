/*
 * cri_names SOCKET NODE [TIMES]: asks a container runtime about the ids on standard input, one per
 * line, as the node agent does. Prints what it finds, as lines of JSON, and then how each question
 * ended and what it cost.
 */
#include <errno.h>
#include <sys/resource.h>

#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/text/json_writer.h"
#include "node-agent/container/cri_source.h"

#define MAX_IDS 20000

static struct loop *loop;
static int end_error;

static void put(struct json_writer *w, const char *key, const char *value)
{
	json_key(w, key);
	json_put_string(w, value ? value : "", value ? strlen(value) : 0);
}

static void found(void *ctx, const struct container_facts *f)
{
	struct json_writer w;
	struct buf out;

	(void)ctx;
	buf_init(&out, 65536);
	json_writer_init(&w, &out);
	json_open(&w, '{');
	put(&w, "id", f->id);
	put(&w, "name", f->name);
	put(&w, "image", f->image);
	put(&w, "namespace", f->namespace);
	put(&w, "pod", f->pod);
	put(&w, "uid", f->pod_uid);
	put(&w, "owner", f->owner);
	put(&w, "sandbox", f->sandbox ? "yes" : "");
	put(&w, "disabled", f->profiling_disabled ? "yes" : "");
	json_close(&w, '}');
	if (json_writer_finish(&w) == 0)
		puts(out.data);
	buf_fini(&out);
}

static void on_done(void *ctx, int error)
{
	(void)ctx;
	end_error = error;
	loop_stop(loop);
}

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static size_t read_ids(char *ids[static MAX_IDS])
{
	char line[256];
	size_t n = 0;

	while (n < MAX_IDS && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		ids[n++] = strdup(line);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct container_sink sink = {.found = found};
	static char *ids[MAX_IDS];
	struct cri_source_config cfg = {.sink = &sink};
	struct container_question question = {NULL};
	struct cri_source *source = NULL;
	size_t n;

	if (argc < 3) {
		fprintf(stderr, "usage: cri_names SOCKET NODE [TIMES] <ids\n");
		return 2;
	}
	n = read_ids(ids);
	if (n == 0 || loop_new(&loop) < 0)
		return 1;
	question.ids = (const char *const *)ids;
	question.n = n;
	cfg.loop = loop;
	cfg.socket = argv[1];
	cfg.node = argv[2];
	if (cri_source_new(&source, &cfg) < 0)
		return 1;
	for (int i = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1; i > 0; i--) {
		double cpu = cpu_ms();
		uint64_t start_ns = clock_monotonic_ns();

		if (cri_source_ops.ask(source, &question, on_done, NULL) < 0 || loop_run(loop) < 0)
			return 1;
		printf("{\"error\":\"%s\",\"cpu_ms\":%.1f,\"ms\":%.1f}\n",
		       end_error ? strerrorname_np(-end_error) : "", cpu_ms() - cpu,
		       (double)(clock_monotonic_ns() - start_ns) / 1e6);
		fflush(stdout);
	}
	cri_source_ops.free(source);
	loop_free(loop);
	for (size_t i = 0; i < n; i++)
		free(ids[i]);
	return 0;
}
