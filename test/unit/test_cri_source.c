/*
 * The source against a runtime that is only a stub, for what a real one does not do on command:
 * hang, restart, drop, send garbage. test/containers has it against containerd.
 */
#include <errno.h>
#include <sys/resource.h>

#include "common/system/clock.h"
#include "node-agent/container/cri_source.h"
#include "test/lib/cri_answers.h"
#include "test/lib/h2_server.h"
#include "test/lib/unit.h"

#define MAX_REQUESTS 256
#define PATIENCE_NS (300 * NS_PER_S) /* for what must not fail on a busy machine */
#define ID_DIGITS 64

struct fixture {
	const char *folder;
	char path[128];
	struct loop *loop;
	struct loop_source *stopper, *ticker;
	struct cri_source *source;
	struct container_sink sink;
	struct h2_server server;

	/* what the runtime has; a sandbox of each container, "s" and the container's id */
	unsigned n_containers;
	size_t label_bytes;
	const char *annotation[2], *label[2];
	bool names_images; /* ListContainers has names instead of ids */
	bool knows_no_images;
	bool has_second_tag;

	/* the fault of requests whose path ends in this; NULL: of none */
	const char *fault_in;
	enum h2_fault fault;
	const char *fault_status; /* of gRPC */
	bool is_garbage;          /* the answer is whole, but no protobuf */
	/* as the server saw them; under lock */
	pthread_mutex_t lock;
	unsigned n_requests;
	char requests[MAX_REQUESTS][96];

	int n_done, error;
	unsigned n_found, n_sandboxes, n_images, n_disabled;
	char last[512];
};

static void make_id(char id[static ID_DIGITS + 1], char kind, unsigned i)
{
	snprintf(id, ID_DIGITS + 1, "%c%063u", kind, i);
}

/* ---- the runtime ------------------------------------------------------------------------ */

static void add_container(const struct fixture *f, struct cri_answer *a, unsigned i)
{
	char id[ID_DIGITS + 1], sandbox[ID_DIGITS + 1], pod[64], uid[64];

	make_id(id, 'c', i);
	make_id(sandbox, '5', i);
	snprintf(pod, sizeof(pod), "web-7d4b9c6f5-abcd%u", i);
	snprintf(uid, sizeof(uid), "uid-%u", i);
	cri_answer_add_container(a,
				 &(struct made_container){
					 .id = id,
					 .sandbox_id = sandbox,
					 .name = "app",
					 .image = f->names_images ? "quay.io/app:2" : "sha256:aa",
					 .image_ref = "sha256:aa",
					 .pod = pod,
					 .namespace = "shop",
					 .uid = uid,
					 .label_bytes = f->label_bytes,
				 });
}

static void add_sandbox(const struct fixture *f, struct cri_answer *a, unsigned i)
{
	char id[ID_DIGITS + 1], pod[64], uid[64];

	make_id(id, '5', i);
	snprintf(pod, sizeof(pod), "web-7d4b9c6f5-abcd%u", i);
	snprintf(uid, sizeof(uid), "uid-%u", i);
	cri_answer_add_sandbox(a, &(struct made_sandbox){id,
							 pod,
							 "shop",
							 uid,
							 {f->annotation[0], f->annotation[1]},
							 {f->label[0], f->label[1]}});
}

static void add_all(const struct fixture *f, struct cri_answer *a, const char *filter, char kind,
		    void (*add)(const struct fixture *f, struct cri_answer *a, unsigned i))
{
	char id[ID_DIGITS + 1];

	for (unsigned i = 0; i < f->n_containers; i++) {
		make_id(id, kind, i);
		if (filter[0] == '\0' || strcmp(filter, id) == 0)
			add(f, a, i);
	}
}

static bool ends_in(const char *s, const char *end)
{
	return strlen(s) >= strlen(end) && strcmp(s + strlen(s) - strlen(end), end) == 0;
}

static void note_request(struct fixture *f, const char *path, const char *filter)
{
	pthread_mutex_lock(&f->lock);
	assert_true(f->n_requests < MAX_REQUESTS);
	snprintf(f->requests[f->n_requests++], sizeof(f->requests[0]), "%s %.8s",
		 strrchr(path, '/') + 1, filter);
	pthread_mutex_unlock(&f->lock);
}

static void handle(void *ctx, const char *path, const char *body, size_t len,
		   struct h2_reply *reply)
{
	struct fixture *f = ctx;
	enum h2_fault fault;
	const char *fault_in;
	char filter[256];
	struct cri_answer a;

	cri_request_id(body, len, filter);
	note_request(f, path, filter);
	pthread_mutex_lock(&f->lock);
	fault_in = f->fault_in;
	fault = f->fault;
	pthread_mutex_unlock(&f->lock);
	*reply = (struct h2_reply){.type = "application/grpc", .grpc_status = "0"};
	if (fault_in && ends_in(path, fault_in)) {
		reply->fault = fault;
		if (f->fault_status)
			reply->grpc_status = f->fault_status;
		if (f->is_garbage) {
			reply->body = strdup("\1 what is this?");
			reply->body_len = 14;
			return;
		}
	}
	cri_answer_init(&a);
	if (ends_in(path, "/runtime.v1.RuntimeService/Version"))
		cri_answer_set_version(&a, "stub", "1.0");
	else if (ends_in(path, "/runtime.v1.RuntimeService/ListContainers"))
		add_all(f, &a, filter, 'c', add_container);
	else if (ends_in(path, "/runtime.v1.RuntimeService/ListPodSandbox"))
		add_all(f, &a, filter, '5', add_sandbox);
	else if (ends_in(path, "/runtime.v1.ImageService/ListImages") && !f->knows_no_images)
		cri_answer_add_image(&a, "sha256:aa",
				     f->has_second_tag
					     ? "docker.io/library/app:1 docker.io/library/app:2"
					     : "docker.io/library/app:1");
	reply->body = cri_answer_take(&a, &reply->body_len);
}

static unsigned count_requests(struct fixture *f, const char *what)
{
	unsigned n = 0;

	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < f->n_requests; i++)
		n += strncmp(f->requests[i], what, strlen(what)) == 0;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* While an abandoned request may still be handled. */
static void set_fault(struct fixture *f, const char *in, enum h2_fault fault)
{
	pthread_mutex_lock(&f->lock);
	f->fault_in = in;
	f->fault = fault;
	pthread_mutex_unlock(&f->lock);
}

static void forget_requests(struct fixture *f)
{
	pthread_mutex_lock(&f->lock);
	f->n_requests = 0;
	pthread_mutex_unlock(&f->lock);
}

/* ---- the directory ---------------------------------------------------------------------- */

static const char *or_none(const char *s)
{
	return s && s[0] ? s : "-";
}

static void found(void *ctx, const struct container_facts *facts)
{
	struct fixture *f = ctx;

	f->n_found++;
	f->n_sandboxes += facts->sandbox;
	f->n_images += facts->image && facts->image[0];
	f->n_disabled += facts->profiling_disabled;
	snprintf(f->last, sizeof(f->last), "%.2s %s %s/%s %s image=%s owner=%s%s", facts->id,
		 or_none(facts->name), or_none(facts->namespace), or_none(facts->pod),
		 or_none(facts->pod_uid), or_none(facts->image), or_none(facts->owner),
		 facts->sandbox ? " sandbox" : "");
}

static void stop(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static void on_done(void *ctx, int error)
{
	struct fixture *f = ctx;

	f->n_done++;
	f->error = error;
	loop_wake(f->stopper);
}

static int ask_ids(struct fixture *f, const char *const *ids, size_t n)
{
	const struct container_question q = {ids, NULL, n};
	int n_before = f->n_done;

	f->n_found = f->n_sandboxes = f->n_images = f->n_disabled = 0;
	assert_int_equal(cri_source_ops.ask(f->source, &q, on_done, f), 0);
	assert_int_equal(f->n_done, n_before);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, n_before + 1);
	return f->error;
}

/* Asks for n ids of this kind from the first one on. */
static int ask(struct fixture *f, char kind, unsigned first, unsigned n)
{
	char(*ids)[ID_DIGITS + 1] = calloc(n, sizeof(*ids));
	const char **at = calloc(n, sizeof(*at));
	int r;

	for (unsigned i = 0; i < n; i++) {
		make_id(ids[i], kind, first + i);
		at[i] = ids[i];
	}
	r = ask_ids(f, at, n);
	free(at);
	free(ids);
	return r;
}

/* timeout_ns: 0 for what the agent has */
static void make_source(struct fixture *f, uint64_t timeout_ns)
{
	const struct cri_source_config cfg = {
		.loop = f->loop,
		.socket = f->path,
		.node = "n1",
		.sink = &f->sink,
		.timeout_ns = timeout_ns,
	};

	assert_int_equal(cri_source_new(&f->source, &cfg), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->folder = temp_dir();
	snprintf(f->path, sizeof(f->path), "%s/cri.sock", f->folder);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_wake(f->loop, stop, f, &f->stopper), 0);
	assert_int_equal(loop_add_timer(f->loop, stop, f, &f->ticker), 0);
	pthread_mutex_init(&f->lock, NULL);
	f->sink = (struct container_sink){.found = found, .ctx = f};
	f->n_containers = 10;
	f->server = (struct h2_server){.path = f->path, .handle = handle, .ctx = f};
	h2_server_start(&f->server);
	make_source(f, PATIENCE_NS);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	cri_source_ops.free(f->source);
	h2_server_stop(&f->server);
	loop_free(f->loop);
	pthread_mutex_destroy(&f->lock);
	assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

/* ---- tests ------------------------------------------------------------------------------ */

TEST_FIXTURE(one_new_container_is_asked_for_alone, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, 'c', 3, 1), 0);
	/* once as soon as its pod is known, and again with the name of its image */
	assert_int_equal(f->n_found, 2);
	assert_int_equal(f->n_images, 1);
	assert_string_equal(f->last, "c0 app shop/web-7d4b9c6f5-abcd3 uid-3 "
				     "image=docker.io/library/app:1 owner=-");
	assert_int_equal(f->n_requests, 4);
	assert_string_equal(f->requests[0], "Version ");
	assert_string_equal(f->requests[1], "ListContainers c0000000");
	assert_string_equal(f->requests[2], "ListPodSandbox 50000000");
	assert_string_equal(f->requests[3], "ListImages ");
	/* the pod is known; the image may have another tag by now */
	assert_int_equal(ask(f, 'c', 3, 1), 0);
	assert_int_equal(f->n_found, 2);
	assert_int_equal(f->n_images, 1);
	assert_int_equal(f->n_requests, 6);
	f->has_second_tag = true;
	assert_int_equal(ask(f, 'c', 4, 1), 0);
	assert_string_equal(f->last, "c0 app shop/web-7d4b9c6f5-abcd4 uid-4 "
				     "image=docker.io/library/app owner=-");
}

TEST_FIXTURE(many_new_containers_cost_one_list_each, set_up, tear_down)
{
	struct fixture *f = *state;

	f->n_containers = 1000;
	assert_int_equal(ask(f, 'c', 0, 1000), 0);
	assert_int_equal(f->n_found, 2000);
	assert_int_equal(f->n_images, 1000);
	assert_int_equal(f->n_requests, 4);
	assert_string_equal(f->requests[1], "ListContainers ");
	assert_string_equal(f->requests[2], "ListPodSandbox ");
	assert_int_equal(ask(f, 'c', 500, 100), 0);
	assert_int_equal(f->n_found, 2000);
	assert_int_equal(f->n_requests, 6);
}

TEST_FIXTURE(a_pause_container_is_known_by_its_sandbox, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, '5', 4, 1), 0);
	assert_int_equal(f->n_found, 1);
	assert_int_equal(f->n_sandboxes, 1);
	assert_string_equal(f->last, "50 - shop/web-7d4b9c6f5-abcd4 uid-4 image=- owner=- sandbox");
	assert_int_equal(ask(f, '5', 0, 10), 0);
	assert_int_equal(f->n_sandboxes, 10);
	/* from what is known */
	forget_requests(f);
	assert_int_equal(ask(f, '5', 7, 2), 0);
	assert_int_equal(f->n_sandboxes, 2);
	assert_int_equal(f->n_requests, 0);
}

TEST_FIXTURE(an_id_that_is_nobodys_is_not_found, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, 'x', 0, 1), 0);
	assert_int_equal(f->n_found, 0);
	assert_int_equal(ask(f, 'x', 0, 3), 0);
	assert_int_equal(f->n_found, 0);
	assert_int_equal(ask(f, 'x', 0, 50), 0);
	assert_int_equal(f->n_sandboxes, 0);
	/* some runtimes answer an unknown id with an error */
	f->fault_in = "/ListContainers";
	f->fault_status = "5";
	f->fault = H2_TRAILERS_ONLY;
	assert_int_equal(ask(f, 'x', 0, 1), 0);
	assert_int_equal(f->n_found, 0);
}

TEST_FIXTURE(annotations_of_the_pod_are_those_of_its_containers, set_up, tear_down)
{
	struct fixture *f = *state;

	f->annotation[0] = "coroot.com/ebpf-profiling";
	f->annotation[1] = "disabled";
	assert_int_equal(ask(f, 'c', 1, 1), 0);
	assert_int_equal(f->n_disabled, f->n_found);
	assert_int_equal(ask(f, '5', 1, 1), 0);
	assert_int_equal(f->n_disabled, 1);
}

TEST_FIXTURE(labels_and_annotations_of_the_pod_say_who_owns_it, set_up, tear_down)
{
	struct fixture *f = *state;

	f->names_images = true;
	f->label[0] = "job-name";
	f->label[1] = "web-7d4b9c6f5";
	assert_int_equal(ask(f, 'c', 1, 1), 0);
	assert_non_null(strstr(f->last, " owner=web-7d4b9c6f5"));
	f->annotation[0] = "coroot.com/custom-application-name";
	f->annotation[1] = "till";
	assert_int_equal(ask(f, 'c', 2, 1), 0);
	assert_non_null(strstr(f->last, " owner=till"));
	/* a name that cannot be one */
	f->annotation[1] = "a/b";
	assert_int_equal(ask(f, 'c', 3, 1), 0);
	assert_non_null(strstr(f->last, " owner=web-7d4b9c6f5"));
}

TEST_FIXTURE(images_without_a_name_are_asked_for_by_new_containers_only, set_up, tear_down)
{
	struct fixture *f = *state;

	f->knows_no_images = true;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ask(f, 'c', i, 1), 0);
		assert_int_equal(f->n_images, 0);
		assert_int_equal(count_requests(f, "ListImages"), i + 1);
	}
	f->names_images = true;
	assert_int_equal(ask(f, 'c', 5, 1), 0);
	assert_string_equal(f->last,
			    "c0 app shop/web-7d4b9c6f5-abcd5 uid-5 image=quay.io/app:2 owner=-");
	assert_int_equal(count_requests(f, "ListImages"), 3);
}

TEST_FIXTURE(names_do_not_wait_for_images, set_up, tear_down)
{
	struct fixture *f = *state;

	cri_source_ops.free(f->source);
	make_source(f, 5 * NS_PER_S);
	f->fault_in = "/ListImages";
	f->fault = H2_HANG;
	assert_int_equal(ask(f, 'c', 0, 1), 0);
	assert_int_equal(f->n_found, 1);
	/* which are left alone for a while */
	assert_int_equal(ask(f, 'c', 1, 1), 0);
	assert_int_equal(f->n_found, 1);
	assert_int_equal(count_requests(f, "ListImages"), 1);
}

/* Every fault in every step but that of images ends the question, and the next one works. */
TEST_FIXTURE(faults_end_the_question_and_the_next_one_works, set_up, tear_down)
{
	static const char *const steps[] = {"/Version", "/ListContainers", "/ListPodSandbox"};
	static const struct {
		enum h2_fault fault;
		const char *status;
		bool garbage;
		int error[2];
	} cases[] = {
		{H2_HANG, NULL, false, {-ETIMEDOUT}},
		{H2_HANG_MIDWAY, NULL, false, {-ETIMEDOUT}},
		{H2_DROP, NULL, false, {-ECONNRESET, -EPROTO}},
		{H2_DROP_MIDWAY, NULL, false, {-ECONNRESET, -EPROTO}},
		{H2_RESET, NULL, false, {-EPROTO}},
		{H2_GOAWAY, NULL, false, {-ECONNRESET, -EPROTO}},
		{H2_GARBAGE, NULL, false, {-ECONNRESET, -EPROTO}},
		{H2_OK, NULL, true, {-EBADMSG}},
		{H2_OK, "13", false, {-EIO}},
		{H2_TRAILERS_ONLY, "14", false, {-EAGAIN}},
		{H2_TRAILERS_ONLY, "0", false, {-EBADMSG}},
	};
	struct fixture *f = *state;

	for (size_t step = 0; step < ARRAY_SIZE(steps); step++) {
		/* two seconds each: once is enough for those that wait */
		for (size_t i = step == 1 ? 0 : 2; i < ARRAY_SIZE(cases); i++) {
			bool hangs = cases[i].error[0] == -ETIMEDOUT;
			int tries = 0;

			cri_source_ops.free(f->source);
			make_source(f, hangs ? 0 : PATIENCE_NS);
			forget_requests(f);
			set_fault(f, steps[step], cases[i].fault);
			f->fault_status = cases[i].status;
			f->is_garbage = cases[i].garbage;
			ask(f, 'c', 1, 1);
			if (f->error != cases[i].error[0] &&
			    (f->error != cases[i].error[1] || f->error == 0))
				fail_msg("%s, case %zu: %d", steps[step], i, f->error);
			set_fault(f, NULL, H2_OK);
			/* on a busy machine what is in time for the agent may be late */
			for (; ask(f, 'c', 1, 1) != 0; tries++)
				assert_true(hangs && f->error == -ETIMEDOUT && tries < 50);
			/* again with its image, unless an earlier try had that late */
			assert_in_range(f->n_found, tries > 0 ? 1 : 2, 2);
		}
	}
}

TEST_FIXTURE(a_socket_without_the_service_knows_no_containers, set_up, tear_down)
{
	struct fixture *f = *state;

	f->fault_in = "/Version";
	f->fault = H2_TRAILERS_ONLY;
	f->fault_status = "12";
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ask(f, 'c', 1, 1), 0);
		assert_int_equal(f->n_found, 0);
	}
	/* it is not asked each time */
	assert_int_equal(f->n_requests, 1);
}

TEST_FIXTURE(a_runtime_may_restart_and_be_missing, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, 'c', 1, 1), 0);
	h2_server_stop(&f->server);
	assert_int_equal(ask(f, 'c', 2, 1), -ENOENT);
	h2_server_start(&f->server);
	assert_int_equal(ask(f, 'c', 2, 1), 0);
	assert_int_equal(f->n_found, 2);
	assert_int_equal(f->n_images, 1);
}

TEST_FIXTURE(a_mute_runtime_is_given_up_in_time, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t start_ns = clock_monotonic_ns();

	h2_server_stop(&f->server);
	cri_source_ops.free(f->source);
	make_source(f, 0);
	f->server.is_mute = true;
	h2_server_start(&f->server);
	assert_int_equal(ask(f, 'c', 1, 20), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - start_ns > NS_PER_S);
}

TEST_FIXTURE(answers_have_limits, set_up, tear_down)
{
	struct fixture *f = *state;

	/* each fits, all together do not */
	f->n_containers = 30;
	f->label_bytes = 700000;
	assert_int_equal(ask(f, 'c', 0, 30), -EFBIG);
	assert_int_equal(ask(f, 'c', 0, 1), 0);
	assert_int_equal(f->n_found, 2);
	f->label_bytes = 2000000;
	assert_int_equal(ask(f, 'c', 0, 1), 0);
	assert_int_equal(f->n_found, 0);
}

TEST_FIXTURE(a_question_may_be_cancelled_at_any_time, set_up, tear_down)
{
	static const char *const steps[] = {NULL, "/Version", "/ListContainers", "/ListPodSandbox",
					    "/ListImages"};
	struct fixture *f = *state;
	char id[ID_DIGITS + 1];
	const char *ids[] = {id};
	const struct container_question q = {ids, NULL, 1};

	make_id(id, 'c', 1);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		set_fault(f, steps[i], H2_HANG);
		assert_int_equal(cri_source_ops.ask(f->source, &q, on_done, f), 0);
		while (steps[i] && count_requests(f, steps[i] + 1) == 0) {
			loop_set_timer(f->ticker, NS_PER_MS);
			assert_int_equal(loop_run(f->loop), 0);
		}
		cri_source_ops.free(f->source);
		make_source(f, PATIENCE_NS);
		assert_int_equal(f->n_done, 0);
		forget_requests(f);
	}
	eventually(h2_server_open(&f->server) == 0);
}

static int new_source(void *fixture)
{
	const struct fixture *f = fixture;
	const struct cri_source_config cfg = {
		.loop = f->loop, .socket = f->path, .node = "n1", .sink = &f->sink};
	struct cri_source *s;
	int r = cri_source_new(&s, &cfg);

	if (r == 0)
		cri_source_ops.free(s);
	return r;
}

TEST_FIXTURE(memory_may_run_out, set_up, tear_down)
{
	check_oom(new_source, *state);
}
