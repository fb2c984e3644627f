/* Requests of Pyroscope's /ingest in formats other than pprof and folded stacks → parts. */
#include "test/lib/ingest_request.h"
#include "test/lib/jfr_builder.h"
#include "test/lib/unit.h"

/* ---- recordings ---- */

static void add_bytes(struct fixture *f, const char *bytes, size_t len)
{
	assert_int_equal(buf_add(&f->body, bytes, len), 0);
}

TEST(events_of_recordings_are_stored_or_named)
{
	struct jfr_builder b = {.ticks = 1000000000};
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	buf_init(&b.out, 1 << 20);
	build_chunk(&b);
	build_execution(&b, 1);
	build_event(&b, TYPE_OLD_OBJECT, 0, 1, 64);
	build_event(&b, TYPE_MALLOC, 0, 2, 4096);
	build_event(&b, TYPE_SOCKET, 7, 1, 0);
	build_event(&b, TYPE_LOAD, 0, 0, 0);
	build_event(&b, TYPE_PARK, 5, 1, 1);
	build_checkpoint(&b, 4);
	build_names(&b, 2);
	build_end(&b);
	build_chunk_end(&b);
	add_bytes(&f, b.out.data, b.out.len);
	buf_fini(&b.out);
	decodes(&f, 3);
	type_is(&f, 0, "java:cpu:nanoseconds", 10000000);
	f.parts.items++;
	type_is(&f, 0, "java:heap_inuse_space:bytes", 64);
	type_is(&f, 1, "java:heap_inuse_objects:count", 1);
	f.parts.items++;
	type_is(&f, 0, "java:malloc_space:bytes", 4096);
	type_is(&f, 1, "java:malloc_objects:count", 1);
	assert_int_equal(f.parts.losses.n[PROFILE_LOSS_OTHER_EVENTS], 2);
	assert_string_equal(f.parts.note, "jdk.ThreadPark (1), jdk.SocketRead (1)");
}

/* ---- speedscope, trees and tries ---- */

#define SPEEDSCOPE                                                                               \
	"{\"profiles\":[{\"type\":\"sampled\",\"unit\":\"seconds\",\"samples\":[[0,1],[0]],"     \
	"\"weights\":[0.01,0.02]}],\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"a.py\"" \
	",\"line\":7},{\"name\":\"leaf\"}]}}"

TEST(files_of_speedscope_are_recognised)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add(&f, SPEEDSCOPE);
	decodes(&f, 1);
	type_is(&f, 0, "python:cpu:nanoseconds", 30000000);
	frame_is(&f, 0, "main", "a.py", 7);
	f.req.query.format = "speedscope";
	f.req.query.name = "app.wall";
	decodes(&f, 1);
	type_is(&f, 0, "python:wall:nanoseconds", 30000000);
	assert_memory_equal(f.parts.items[0].service.data, "app", 4);
	f.req.query.format = "folded";
	assert_int_equal(decode(&f), -EBADMSG);
	/* as a form, with and without the format */
	f.body.len = 0;
	add(&f, "--b\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\n" SPEEDSCOPE
		"\r\n--b--\r\n");
	f.req.content_type = "multipart/form-data; boundary=b";
	for (int i = 0; i < 2; i++) {
		f.req.query.format = i ? "speedscope" : NULL;
		decodes(&f, 1);
		type_is(&f, 0, "python:wall:nanoseconds", 30000000);
	}
}

TEST(trees_and_tries_of_old_clients_are_read)
{
	static const char trie[] = "\x00\x00\x01\x07main;a;\x00\x02\x01"
				   "c\x01\x00\x01"
				   "d\x02";
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.req.query = (struct ingest_query){
		.name = "app.cpu{}", .format = "trie", .spy_name = "gospy", .sample_rate = "50"};
	add_bytes(&f, trie, sizeof(trie));
	decodes(&f, 1);
	type_is(&f, 0, "go:profile_cpu:nanoseconds", 60000000);
	frame_is(&f, 0, "c", "", 0);
	frame_is(&f, 1, "a", "", 0);
	assert_int_equal(profile(&f)->samples[0].n_locations, 3);
	f.req.query.name = "app.inuse_objects";
	f.req.query.format = "tree";
	decodes(&f, 1);
	type_is(&f, 0, "go:heap_inuse_objects:count", 3);
	frame_is(&f, 1, "main;a;", "", 0);
	/* by its type */
	f.req.query.format = NULL;
	f.req.content_type = "binary/octet-stream+tree";
	decodes(&f, 1);
	frame_is(&f, 1, "main;a;", "", 0);
	f.req.query.format = "trie";
	f.body.len--;
	refuses(&f, "not a valid trie of stacks");
}
