/* The source code of a file that frames of a selection name. */
#include "cluster-agent/source/source_code.h"

#include <errno.h>

#include "cluster-agent/query/label_query.h"
#include "cluster-agent/query/profile_query.h"
#include "common/text/json_writer.h"

struct label_reader {
	struct store *store;
	const struct query_filter *filter;
};

static int get_label(void *ctx, const char *name, char ret[static SOURCE_LABEL_BYTES],
		     struct err *err)
{
	const struct label_reader *l = ctx;

	return label_query_largest(l->store, l->filter, name, ret, SOURCE_LABEL_BYTES, err);
}

static int put_text(struct json_writer *w, const struct query_request *p)
{
	CLEANUP(buf_fini) struct buf text;
	struct err why = {""};
	int r;

	buf_init(&text, SOURCE_CODE_MAX_BYTES + 1);
	r = source_code_read(p->sources, p->file, &text, &why);
	if (r == -ENOENT) {
		json_member_text(w, "why", why.msg);
		return 0;
	}
	if (r < 0)
		return r;
	json_key(w, "text");
	json_put_string(w, text.len > 0 ? text.data : "", text.len);
	return 0;
}

static int put_link(struct json_writer *w, struct store *store, const struct query_request *p,
		    struct err *err)
{
	CLEANUP(buf_fini) struct buf url;
	struct label_reader reader = {store, &p->filter};
	const struct source_labels labels = {get_label, &reader};
	int r;

	buf_init(&url, SOURCE_URL_MAX_BYTES);
	r = source_code_link(p->sources, p->filter.service, p->file, &labels, &url, err);
	if (r > 0)
		json_member_text(w, "url", url.data);
	return r < 0 ? r : 0;
}

int profile_query_source(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err)
{
	bool has_folders = p->sources && source_code_has_folders(p->sources);
	struct json_writer w;
	int r = 0;

	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "file", p->file);
	json_key(&w, "folders");
	json_put_bool(&w, has_folders);
	if (has_folders)
		r = put_text(&w, p);
	if (r == 0 && p->sources)
		r = put_link(&w, store, p, err);
	json_close(&w, '}');
	return r < 0 ? r : json_writer_finish(&w);
}
