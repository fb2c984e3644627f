/* What holds for the parts of any upload that was decoded; for fuzz targets. */
#ifndef TEST_LIB_UPLOAD_PARTS_CHECK_H
#define TEST_LIB_UPLOAD_PARTS_CHECK_H

#include <assert.h>

#include "cluster-agent/ingest/upload_parts.h"
#include "common/text/utf8.h"

static inline void check_profile(const struct profile *p)
{
	assert(p->arena);
	for (uint32_t i = 0; i < p->n_locations; i++)
		for (uint32_t l = 0; l < p->locations[i].n_lines; l++)
			assert(p->locations[i].lines[l].function < p->n_functions);
	for (uint32_t i = 0; i < p->n_functions; i++)
		assert(strnlen(p->functions[i].name.data, p->functions[i].name.len + 1) <=
		       p->functions[i].name.len);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		volatile int64_t sum = 0;

		for (uint32_t l = 0; l < s->n_locations; l++)
			assert(s->locations[l] < p->n_locations);
		for (uint32_t t = 0; t < p->n_types; t++)
			sum ^= s->values[t];
	}
	for (uint32_t t = 0; t < p->n_types; t++)
		assert(p->types[t].type.len == 0 ||
		       memchr(p->types[t].type.data, ':', p->types[t].type.len));
}

static inline void check_upload_parts(const struct upload_parts *parts)
{
	assert(parts->n <= UPLOAD_PARTS_MAX);
	for (size_t i = 0; i < parts->n; i++) {
		const struct upload_part *part = &parts->items[i];

		assert(part->service.len > 0 &&
		       utf8_is_valid(part->service.data, part->service.len));
		for (size_t l = 0; l < part->n_labels; l++) {
			assert(part->labels[l].name.len > 0 && part->labels[l].value.len > 0);
			assert(utf8_is_valid(part->labels[l].value.data,
					     part->labels[l].value.len));
		}
		check_profile(&part->profile);
	}
}

#endif /* TEST_LIB_UPLOAD_PARTS_CHECK_H */
