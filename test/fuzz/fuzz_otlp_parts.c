/*
 * Any bytes as an OTLP request: what is accepted has every reference in range, and can be laid out
 * as rows.
 */
#include <errno.h>

#include "cluster-agent/ingest/profile_rows.h"
#include "cluster-agent/otlp/otlp_parts.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/text/utf8.h"

#define NOW_NS INT64_C(1800000000000000000)
#define WEEK_NS INT64_C(604800000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_profile(const struct profile *p)
{
	require(p->n_types <= 1);
	for (uint32_t i = 0; i < p->n_locations; i++) {
		require(p->locations[i].n_lines > 0);
		for (uint32_t j = 0; j < p->locations[i].n_lines; j++)
			require(p->locations[i].lines[j].function < p->n_functions);
	}
	for (uint32_t i = 0; i < p->n_functions; i++) {
		const struct profile_string *file = &p->functions[i].file;

		require(p->functions[i].name.len > 0);
		require(memchr(file->data, ' ', file->len) == NULL);
	}
	for (uint32_t i = 0; i < p->n_samples; i++)
		for (uint32_t j = 0; j < p->samples[i].n_locations; j++)
			require(p->samples[i].locations[j] < p->n_locations);
}

static void check_part(const struct upload_part *part)
{
	const struct profile_rows_limits limits = {
		.now_ns = NOW_NS,
		.max_age_ns = WEEK_NS,
		.max_hash_bytes = LIMIT_PROFILE_STACK_TEXT_BYTES,
	};
	struct profile_rows rows;
	struct err err = {""};
	int e;

	require(part->service.len > 0 && utf8_is_valid(part->service.data, part->service.len));
	for (size_t i = 0; i < part->n_labels; i++)
		require(utf8_is_valid(part->labels[i].value.data, part->labels[i].value.len));
	check_profile(&part->profile);
	/* a part that were refused now would take all others with it */
	e = profile_rows_make(&rows, &part->profile, &limits, NULL, &err);
	require(e == 0 || e == -EFBIG || e == -ENOMEM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct otlp_parts_config cfg = {.now_ns = NOW_NS, .max_age_ns = WEEK_NS};
	CLEANUP(arena_fini) struct arena arena;
	struct otlp_parts_report report;
	struct upload_parts parts;
	struct err err = {""};
	int e;

	arena_init(&arena, 64 * MIB);
	e = otlp_parts_decode(&parts, &report, &arena, &cfg, (struct otlp_bytes){data, size}, &err);
	require(e == 0 || e == -ENOMEM || err.msg[0] != '\0');
	require(report.n_rejected <= report.n_profiles);
	if (e < 0)
		return 0;
	for (size_t i = 0; i < parts.n; i++)
		check_part(&parts.items[i]);
	return 0;
}
