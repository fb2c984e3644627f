#include "cluster-agent/query/read/stored_name.h"

#include "cluster-agent/query/read/late_names.h"
#include "common/flame/frame_text.h"
#include "common/pprof/code_file.h"

const char *stored_name_shown(struct symbol_store *symbols, const char *stored, struct arena *a)
{
	char frame[LATE_NAME_BYTES], named[LATE_NAME_BYTES];
	int n = snprintf(frame, sizeof(frame), "%s:0", stored);
	struct code_place_text place;
	struct frame_text text;
	size_t len;

	if (n < 0 || n >= (int)sizeof(frame) || !late_name_place(frame, (size_t)n, &place))
		return stored;
	len = late_name_of(symbols, frame, (size_t)n, named);
	if (len > 0)
		frame_text_split(&text, named, len);
	else
		frame_text_split(&text, frame, (size_t)n);
	return arena_strndup(a, text.name, text.name_len);
}
