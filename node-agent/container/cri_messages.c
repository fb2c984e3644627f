/*
 * The outermost message of a list is walked by hand, and protobuf-c unpacks its elements one by one
 * into an arena that is cleared after each (as pprof_decode.c does): the whole list unpacked at
 * once would take several times its size before the first limit could refuse it.
 */
#include "node-agent/container/cri_messages.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/http/grpc_frame.h"
#include "common/pprof/pprof_wire.h"
#include "common/text/parse.h"
#include "proto/cri.pb-c.h"

#define ELEMENTS_FIELD 1 /* of each kind of list */

/* An element being decoded. */
struct decoder {
	const struct cri_visitor *visitor;
	struct arena arena;
	ProtobufCAllocator allocator; /* on arena */
	size_t missed;                /* size of the allocation that failed; 0: none */
};

typedef bool (*element_fn)(struct decoder *d, const struct wire_field *f);

static void *decoder_alloc(void *decoder, size_t size)
{
	struct decoder *d = decoder;
	void *p = arena_alloc(&d->arena, size);

	if (!p)
		d->missed = size;
	return p;
}

static void decoder_free(void *decoder, void *p)
{
	/* arena_clear() frees all of an element at once */
	(void)decoder, (void)p;
}

static void decoder_init(struct decoder *d, const struct cri_visitor *v)
{
	*d = (struct decoder){
		.visitor = v,
		.allocator = {decoder_alloc, decoder_free, d},
	};
	arena_init(&d->arena, CRI_ELEMENT_MAX_BYTES);
}

/* Why protobuf-c has returned NULL. */
static int decoder_error(struct decoder *d)
{
	return d->missed ? arena_error(&d->arena, d->missed) : -EBADMSG;
}

/* ---- frames ----------------------------------------------------------------------------- */

static int put_head(struct buf *out, size_t len)
{
	uint8_t head[GRPC_FRAME_HEAD_BYTES];

	grpc_frame_head(head, len);
	return buf_add(out, head, sizeof(head));
}

/* An answer to one request has exactly one message. */
static int open_frame(const void *data, size_t len, struct wire_reader *ret)
{
	struct grpc_frame frame;
	int r = grpc_frame_read(&frame, data, len, NULL);

	if (r < 0)
		return r;
	if (frame.compressed || frame.len > CRI_ANSWER_MAX_BYTES)
		return -EBADMSG;
	*ret = (struct wire_reader){frame.message, frame.message + frame.len};
	return 0;
}

int cri_put_empty_request(struct buf *out)
{
	return put_head(out, 0);
}

int cri_put_list_request(struct buf *out, const char *id)
{
	Runtime__V1__ListRequest request = RUNTIME__V1__LIST_REQUEST__INIT;
	Runtime__V1__Filter filter;
	size_t len;
	int r;

	runtime__v1__filter__init(&filter);
	if (id) {
		/* protobuf-c's strings are not const, although it only reads them */
		memcpy(&filter.id, &id, sizeof(id));
		request.filter = &filter;
	}
	len = runtime__v1__list_request__get_packed_size(&request);
	r = put_head(out, len);
	if (r == 0)
		r = buf_reserve(out, len);
	if (r < 0)
		return r;
	runtime__v1__list_request__pack(&request, (uint8_t *)out->data + out->len);
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}

/* ---- elements --------------------------------------------------------------------------- */

static const char *entry(Runtime__V1__Entry *const *entries, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(entries[i]->key, key) == 0)
			return entries[i]->value;
	}
	return "";
}

static const char *image_of(const Runtime__V1__Container *m)
{
	if (!m->image)
		return "";
	/* newer kubelets pass on what the user wrote beside the id of the image */
	return m->image->user_specified_image[0] ? m->image->user_specified_image : m->image->image;
}

static bool visit_container(struct decoder *d, const struct wire_field *f)
{
	const Runtime__V1__Container *m =
		runtime__v1__container__unpack(&d->allocator, f->len, f->data);
	struct cri_container c;

	if (!m)
		return false;
	c = (struct cri_container){
		.id = m->id,
		.sandbox_id = m->pod_sandbox_id,
		.name = m->metadata ? m->metadata->name : "",
		.image = image_of(m),
		.image_id = m->image_id[0] ? m->image_id : m->image_ref,
		.namespace = entry(m->labels, m->n_labels, "io.kubernetes.pod.namespace"),
		.pod = entry(m->labels, m->n_labels, "io.kubernetes.pod.name"),
		.pod_uid = entry(m->labels, m->n_labels, "io.kubernetes.pod.uid"),
		.is_running = m->state == RUNTIME__V1__CONTAINER_STATE__CONTAINER_RUNNING,
	};
	d->visitor->container(d->visitor->ctx, &c);
	return true;
}

static bool visit_sandbox(struct decoder *d, const struct wire_field *f)
{
	const Runtime__V1__PodSandbox *m =
		runtime__v1__pod_sandbox__unpack(&d->allocator, f->len, f->data);
	const char *source, *wish;
	struct cri_sandbox s;

	if (!m)
		return false;
	source = entry(m->annotations, m->n_annotations, "kubernetes.io/config.source");
	wish = entry(m->annotations, m->n_annotations, "coroot.com/ebpf-profiling");
	s = (struct cri_sandbox){
		.id = m->id,
		.namespace = m->metadata ? m->metadata->namespace_ : "",
		.pod = m->metadata ? m->metadata->name : "",
		.pod_uid = m->metadata ? m->metadata->uid : "",
		.application = entry(m->annotations, m->n_annotations, KUBE_APPLICATION_ANNOTATION),
		.is_static = strcmp(source, "file") == 0 || strcmp(source, "http") == 0,
		.profiling_disabled = strcmp(wish, "disabled") == 0,
	};
	for (unsigned i = 0; i < KUBE_LABEL_MAX; i++)
		s.labels.values[i] = entry(m->labels, m->n_labels, kube_label_keys[i]);
	d->visitor->sandbox(d->visitor->ctx, &s);
	return true;
}

/* The length of "registry:5000/shop:1.0" without its tag. */
static size_t untagged_len(const char *reference)
{
	const char *colon = strrchr(reference, ':');

	return colon && !strchr(colon, '/') ? (size_t)(colon - reference) : strlen(reference);
}

/* Cuts the first tag off if there are others. */
static const char *image_name(const Runtime__V1__Image *m)
{
	char *name;
	size_t len;

	if (m->n_repo_tags == 0)
		return "";
	name = m->repo_tags[0];
	len = untagged_len(name);
	for (size_t i = 1; i < m->n_repo_tags; i++) {
		if (untagged_len(m->repo_tags[i]) != len || memcmp(m->repo_tags[i], name, len) != 0)
			return "";
		name[len] = '\0';
	}
	return name;
}

static bool visit_image(struct decoder *d, const struct wire_field *f)
{
	const Runtime__V1__Image *m = runtime__v1__image__unpack(&d->allocator, f->len, f->data);
	struct cri_image i;

	if (!m)
		return false;
	i = (struct cri_image){.id = m->id, .name = image_name(m)};
	d->visitor->image(d->visitor->ctx, &i);
	return true;
}

/* Returns how many elements were skipped, or -errno. */
static int visit(struct decoder *d, struct wire_reader *r, element_fn fn)
{
	struct wire_field f;
	int n_skipped = 0, n, error;

	while ((n = wire_reader_read_field(r, &f)) == 1) {
		if (f.number != ELEMENTS_FIELD)
			continue;
		if (f.type != WIRE_BYTES)
			return -EBADMSG;
		d->missed = 0;
		if (!fn(d, &f)) {
			error = decoder_error(d);
			if (error != -EFBIG)
				return error;
			n_skipped++;
		}
		arena_clear(&d->arena);
	}
	return n < 0 ? n : n_skipped;
}

static int visit_list(const void *data, size_t len, const struct cri_visitor *v, element_fn fn)
{
	struct wire_reader reader;
	struct decoder d;
	int r;

	r = open_frame(data, len, &reader);
	if (r < 0)
		return r;
	decoder_init(&d, v);
	r = visit(&d, &reader, fn);
	arena_fini(&d.arena);
	return r;
}

int cri_visit_containers(const void *data, size_t len, const struct cri_visitor *v)
{
	return visit_list(data, len, v, visit_container);
}

int cri_visit_sandboxes(const void *data, size_t len, const struct cri_visitor *v)
{
	return visit_list(data, len, v, visit_sandbox);
}

int cri_visit_images(const void *data, size_t len, const struct cri_visitor *v)
{
	return visit_list(data, len, v, visit_image);
}

int cri_parse_version(const void *data, size_t len, struct cri_version *ret)
{
	const Runtime__V1__VersionResponse *m;
	struct wire_reader reader;
	struct decoder d;
	int r;

	r = open_frame(data, len, &reader);
	if (r < 0)
		return r;
	decoder_init(&d, NULL);
	m = runtime__v1__version_response__unpack(&d.allocator, (size_t)(reader.end - reader.p),
						  reader.p);
	if (m) {
		snprintf(ret->runtime, sizeof(ret->runtime), "%s", m->runtime_name);
		snprintf(ret->version, sizeof(ret->version), "%s", m->runtime_version);
	} else {
		r = decoder_error(&d) == -ENOMEM ? -ENOMEM : -EBADMSG;
	}
	arena_fini(&d.arena);
	return r;
}

/* ---- errors ----------------------------------------------------------------------------- */

int cri_error(int http_status, const char *grpc_status)
{
	/* grpc/statuscodes */
	static const int errors[] = {
		[0] = 0,       [4] = -ETIMEDOUT,   [5] = -ENOENT,  [7] = -EACCES,
		[8] = -EAGAIN, [12] = -EOPNOTSUPP, [14] = -EAGAIN, [16] = -EACCES,
	};
	uint64_t code;

	if (!grpc_status)
		return http_status == 404 ? -EOPNOTSUPP : -EBADMSG;
	if (parse_u64(grpc_status, strlen(grpc_status), 0, ARRAY_SIZE(errors) - 1, &code) < 0)
		return -EIO;
	return code == 0 || errors[code] ? errors[code] : -EIO;
}
