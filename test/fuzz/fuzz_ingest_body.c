/*
 * Any request to /ingest. The first lines are name, from, format, units and Content-Type; the rest
 * is the body. Corpus: what pyroscope-go, @pyroscope/nodejs, the Java agent and py-spy sent, and
 * bodies made by hand.
 */
#include <errno.h>

#include "cluster-agent/push/ingest_body.h"
#include "test/lib/upload_parts_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_LINES 5

/* Copies the first line and moves on; the rest stays if there is none. */
static void take_line(const uint8_t **data, size_t *size, char *line, size_t max)
{
	const uint8_t *newline = memchr(*data, '\n', *size);
	size_t len = newline ? (size_t)(newline - *data) : 0;

	snprintf(line, max, "%.*s", (int)(len < max ? len : max - 1), (const char *)*data);
	if (newline) {
		*size -= len + 1;
		*data = newline + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char lines[N_LINES][512];
	struct ingest_request req;
	struct upload_parts parts;
	CLEANUP(arena_fini) struct arena arena;
	struct err err = {""};
	int r;

	for (int i = 0; i < N_LINES; i++)
		take_line(&data, &size, lines[i], sizeof(lines[i]));
	req = (struct ingest_request){
		.query = {.name = lines[0],
			  .from = lines[1],
			  .until = lines[1],
			  .format = lines[2],
			  .units = lines[3],
			  .sample_rate = lines[3]},
		.content_type = lines[4],
		.now_ns = INT64_C(1800000000000000000),
	};
	arena_init(&arena, (size_t)64 << 20);
	r = ingest_body_decode(&parts, &arena, &req, data, size, &err);
	if (r == 0)
		check_upload_parts(&parts);
	else
		assert((r == -EBADMSG || r == -EFBIG) && err.msg[0]);
	return 0;
}
