#include "cluster-agent/push/foreign_part.h"

#include <errno.h>

#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"

#define UNSPECIFIED "unspecified"

void foreign_body_init(struct foreign_body *b, const void *data, size_t len, uint64_t *left_bytes)
{
	*b = (struct foreign_body){.data = data, .len = len, .left_bytes = left_bytes};
	buf_init(&b->storage, LIMIT_UPLOAD_INFLATED_BYTES);
}

void foreign_body_fini(struct foreign_body *b)
{
	buf_fini(&b->storage);
}

int foreign_body_inflate(struct foreign_body *b, struct err *err)
{
	struct buf out;
	int r;

	if (!gzip_detect(b->data, b->len))
		return 0;
	buf_init(&out, *b->left_bytes);
	r = gzip_inflate(b->data, b->len, &out);
	if (r < 0) {
		buf_fini(&out);
		if (r == -EFBIG)
			return err_set(err, r, "the profile inflates to more than %llu bytes",
				       (unsigned long long)LIMIT_UPLOAD_INFLATED_BYTES);
		return r == -EBADMSG ? err_set(err, r, "not valid gzip") : r;
	}
	buf_fini(&b->storage);
	b->storage = out;
	b->data = out.data ? out.data : "";
	b->len = out.len;
	*b->left_bytes -= out.len;
	/* nested gzip would multiply the work that a small body causes */
	return gzip_detect(b->data, b->len) ? err_set(err, -EBADMSG, "gzip within gzip") : 0;
}

int foreign_pprof_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
			 uint64_t *left_bytes, struct err *err)
{
	CLEANUP(foreign_body_fini) struct foreign_body b;
	int r;

	foreign_body_init(&b, data, len, left_bytes);
	r = foreign_body_inflate(&b, err);
	return r < 0 ? r : pprof_decode(ret, arena, b.data, b.len, err);
}

static int shorten_names(const struct profile *p)
{
	int r = 0;

	for (uint32_t i = 0; i < p->n_functions && r == 0; i++)
		r = node_name_shorten(&p->functions[i], p->arena);
	return r;
}

int foreign_part_make(struct upload_part *ret, const struct profile *p,
		      const struct foreign_context *c, struct err *err)
{
	const struct series_labels *l = c->labels;
	const struct foreign_hints hints = {
		.source = l->source,
		.metric = c->metric ? c->metric : l->metric,
		.period_ns = c->period_ns,
	};
	int r = 0;

	*ret = (struct upload_part){
		.service = l->service,
		.host = l->host,
		.labels = l->items,
		.n_labels = l->n,
		.profile = *p,
	};
	if (l->service.len == 0)
		ret->service = (struct row_text){UNSPECIFIED, sizeof(UNSPECIFIED) - 1};
	if (foreign_types_present(&ret->profile)) {
		if (l->source == FOREIGN_NODEJS)
			r = shorten_names(p);
		if (r == 0)
			r = foreign_types_apply(&ret->profile, &hints, err);
		foreign_times_set(&ret->profile, c->now_ns);
	}
	if (c->end_ns > 0) {
		ret->profile.time_ns = c->end_ns;
		ret->profile.duration_ns = c->end_ns - c->start_ns;
	}
	return r;
}

/* ---- names of Node.js ---- */

/* Of a path; each costs a comparison with the file. */
#define MAX_COLONS 16u

/* Whether the file ends with the path that the name begins with; both are empty for natives. */
static bool is_of_file(const char *path, size_t len, const struct profile_string *file)
{
	if (len == 0 || len > file->len)
		return len == 0 && file->len == 0;
	return memcmp(file->data + file->len - len, path, len) == 0;
}

/* Returns the colon before the line at the end, or NULL. */
static const char *find_line(const struct profile_string *name)
{
	const char *end = name->data + name->len, *p = end;

	while (p > name->data && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return p < end && p > name->data && p[-1] == ':' ? p - 1 : NULL;
}

/* Returns the colon before the name, or NULL. */
static const char *find_name(const struct profile_function *f, const char *end)
{
	const char *p = f->name.data, *colon;
	unsigned n = 0;

	if (end - p >= 2 && memcmp(p, "./", 2) == 0)
		p += 2;
	/* paths have colons, too: "node:internal/timers" */
	for (colon = p; (colon = memchr(colon, ':', (size_t)(end - colon))); colon++) {
		if (is_of_file(p, (size_t)(colon - p), &f->file))
			return colon;
		if (++n == MAX_COLONS)
			break;
	}
	return NULL;
}

int node_name_shorten(struct profile_function *f, struct arena *arena)
{
	const char *end = f->name.len <= LIMIT_SYMBOL_NAME_BYTES ? find_line(&f->name) : NULL;
	const char *colon = end ? find_name(f, end) : NULL;
	size_t len;
	char *copy;

	if (!colon || colon + 1 == end)
		return 0;
	len = (size_t)(end - colon - 1);
	copy = arena_strndup(arena, colon + 1, len);
	if (!copy)
		return arena_error(arena, len);
	f->name = (struct profile_string){copy, len};
	return 0;
}
