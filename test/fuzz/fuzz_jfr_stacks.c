/*
 * Any bytes as a recording: it is read within bounds and within its memory, and what is reported
 * is printable. Corpus: recordings of async-profiler 4.6 on JDK 17, made as test/data/jfr/golden.js
 * says; recordings made by hand (test/lib/jfr_builder.h), which have all forms of values.
 */
#include <assert.h>
#include <errno.h>

#include "common/jfr/jfr_stacks.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
	uint64_t n_stacks;
};

static ssize_t read_input(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct input *in = ctx;

	assert(offset <= in->size);
	if (len > in->size - offset)
		len = in->size - offset;
	memcpy(to, in->data + offset, len);
	return (ssize_t)len;
}

static int check_stack(void *ctx, const struct jfr_stack *s)
{
	struct input *in = ctx;

	in->n_stacks++;
	assert(s->kind < JFR_KIND_MAX);
	assert(s->n_frames > 0 && s->n_frames <= JFR_STACK_DEPTH_MAX);
	assert(s->count >= 0 && s->amount >= 0);
	for (size_t i = 0; i < s->n_frames; i++) {
		const struct jfr_frame *f = &s->frames[i];

		assert(utf8_is_valid(f->function, strlen(f->function)));
		assert(utf8_is_valid(f->file, strlen(f->file)));
		assert(f->function_id < 1u << 20);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size, 0};
	const struct jfr_source src = {read_input, &in, size};
	struct jfr_settings settings = {0};
	const struct jfr_stacks_config cfg = {check_stack, &in, &settings};
	struct jfr_result result;
	int r = jfr_stacks_read(&src, &cfg, &result, NULL);

	assert(r == 0 || r == -EBADMSG || r == -ENODATA || r == -ENOMEM);
	assert(result.peak_bytes <= JFR_STACKS_MAX_BYTES);
	assert(result.n_other_events <= result.n_events);
	assert(result.n_other_types <= JFR_OTHER_TYPES_MAX);
	assert(in.n_stacks <= result.n_events + JFR_KIND_MAX * (result.n_chunks + 1));
	return 0;
}
