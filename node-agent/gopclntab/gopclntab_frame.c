#include "node-agent/gopclntab/gopclntab_frame.h"

#include <errno.h>

#include "node-agent/gopclntab/gopclntab_record.h"

int gopclntab_find_frame(const struct gopclntab *t, const struct byte_source *src, uint64_t address,
			 struct gopclntab_frame *ret)
{
	struct gopclntab_record f;
	int r;

	r = gopclntab_record_find(&f, t, src, address);
	if (r == 0)
		r = gopclntab_record_value(&f, gopclntab_record_field(&f, f.format->sizes), address,
					   &ret->bytes);
	if (r < 0)
		return r;
	ret->start = f.function.start;
	ret->flags = f.format->flags ? f.bytes[f.format->flags] : 0;
	r = byte_source_read_string(src, t->offset + f.function.name_offset,
				    t->offset + t->size_bytes, ret->name, sizeof(ret->name));
	if (r < 0)
		ret->name[0] = '\0';
	return r < 0 && r != -ENAMETOOLONG ? r : 0;
}
