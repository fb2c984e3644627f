#include "cluster-agent/query/read/late_names.h"

#include <errno.h>

#include "cluster-agent/symbols/symbol_store.h"
#include "common/flame/frame_text.h"
#include "common/pprof/code_file.h"

bool late_name_place(const char *text, size_t len, struct code_place_text *ret)
{
	struct frame_text t;

	frame_text_split(&t, text, len);
	if (t.file_len == 0 || t.file[0] != '[')
		return false;
	return code_file_parse((struct profile_string){t.name, t.name_len},
			       (struct profile_string){t.file, t.file_len}, ret);
}

static size_t format(const struct code_place_text *place, const struct symbol_name *name,
		     char buf[static LATE_NAME_BYTES])
{
	int n;

	if (name->file[0])
		n = snprintf(buf, LATE_NAME_BYTES, "%s %s:0", name->name, name->file);
	else
		n = snprintf(buf, LATE_NAME_BYTES, "%s [%.*s]:0", name->name, (int)place->file.len,
			     place->file.data);
	return n > 0 && n < (int)LATE_NAME_BYTES ? (size_t)n : 0;
}

size_t late_name_of(struct symbol_store *symbols, const char *text, size_t len,
		    char buf[static LATE_NAME_BYTES])
{
	struct code_place_text place;
	struct symbol_name name;

	if (!symbols || !late_name_place(text, len, &place) ||
	    symbol_store_find(symbols, &place, &name) < 0)
		return 0;
	return format(&place, &name, buf);
}

int late_names_add(struct symbol_store *symbols, struct stack_dictionary *d)
{
	struct stack_dictionary_looked *looked = stack_dictionary_looked(d);
	uint64_t generation = symbols ? symbol_store_generation(symbols) : 0;
	uint32_t n = stack_dictionary_texts(d), n_named = 0, n_without_room = 0;
	char text[LATE_NAME_BYTES];
	int r = 0;

	if (generation == 0)
		return 0;
	if (looked->generation != generation)
		looked->n_texts = 0;
	for (uint32_t i = looked->n_texts; i < n && r == 0; i++) {
		const struct flame_frame f = stack_dictionary_text(d, i);
		size_t len = late_name_of(symbols, f.text, f.len, text);

		if (len == 0)
			continue;
		r = stack_dictionary_set_text(d, i, text, len);
		n_named += r == 0;
		n_without_room += r == -EFBIG;
		if (r == -EFBIG) /* a shorter name may fit */
			r = 0;
	}
	if (n_without_room > 0)
		symbol_store_count_without_room(symbols, n_without_room);
	if (r == 0) /* else the next query looks at all that is left */
		*looked = (struct stack_dictionary_looked){generation, n};
	if (n_named > 0)
		stack_dictionary_rename(d);
	return r;
}
