#include "common/flame/speedscope_json.h"

#include <errno.h>

#include "common/flame/frame_text.h"
#include "common/text/json_writer.h"

#define MAX_ARENA_BYTES ((size_t)256 << 20)
#define MAX_TEXT_BYTES ((size_t)64 << 20)
#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

int speedscope_json_init(struct speedscope_json *s, uint32_t max_stacks)
{
	*s = (struct speedscope_json){.max_stacks = max_stacks};
	arena_init(&s->arena, MAX_ARENA_BYTES);
	s->stacks = arena_calloc(&s->arena, max_stacks, sizeof(*s->stacks));
	if (!s->stacks)
		return -ENOMEM;
	return intern_new(&s->texts, MAX_TEXT_BYTES);
}

void speedscope_json_fini(struct speedscope_json *s)
{
	intern_free(s->texts);
	s->texts = NULL;
	arena_fini(&s->arena);
}

int speedscope_json_add(struct speedscope_json *s, const struct flame_frame *frames,
			size_t n_frames, struct stack_value value)
{
	uint32_t *ids;

	if (s->n_stacks == s->max_stacks)
		return -EFBIG;
	ids = arena_calloc(&s->arena, n_frames + 1, sizeof(*ids));
	if (!ids)
		return arena_error(&s->arena, (n_frames + 1) * sizeof(*ids));
	for (size_t i = 0; i < n_frames; i++) {
		int r = intern_add(s->texts, frames[i].text, frames[i].len, &ids[i]);

		if (r < 0)
			return r;
	}
	s->stacks[s->n_stacks++] = (struct speedscope_stack){ids, (uint32_t)n_frames, value};
	return 0;
}

/* speedscope knows only some units. */
static const char *unit_of(const char *unit)
{
	return strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "bytes") == 0 ? unit : "none";
}

static void put_frames(struct json_writer *w, const struct speedscope_json *s)
{
	json_key(w, "shared");
	json_open(w, '{');
	json_key(w, "frames");
	json_open(w, '[');
	for (uint32_t id = 0; id < intern_count(s->texts); id++) {
		struct frame_text parts;
		size_t len;
		const char *text = intern_get(s->texts, id, &len);

		frame_text_split(&parts, text, len);
		json_open(w, '{');
		json_key(w, "name");
		json_put_string(w, parts.name, parts.name_len);
		if (parts.file_len > 0) {
			json_key(w, "file");
			json_put_string(w, parts.file, parts.file_len);
		}
		if (parts.line > 0)
			json_member_int(w, "line", parts.line);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

static int64_t value_of(const struct speedscope_stack *stack, bool is_base)
{
	return is_base ? stack->value.base : stack->value.value;
}

static void put_samples(struct json_writer *w, const struct speedscope_json *s, bool is_base)
{
	json_key(w, "samples");
	json_open(w, '[');
	for (uint32_t i = 0; i < s->n_stacks; i++) {
		const struct speedscope_stack *stack = &s->stacks[i];

		if (value_of(stack, is_base) <= 0)
			continue;
		json_open(w, '[');
		for (uint32_t k = stack->n_frames; k > 0; k--)
			json_put_int(w, stack->frames[k - 1]);
		json_close(w, ']');
	}
	json_close(w, ']');
}

/* Returns the sum. */
static int64_t put_weights(struct json_writer *w, const struct speedscope_json *s, bool is_base)
{
	int64_t sum = 0;

	json_key(w, "weights");
	json_open(w, '[');
	for (uint32_t i = 0; i < s->n_stacks; i++) {
		int64_t value = value_of(&s->stacks[i], is_base);

		if (value <= 0)
			continue;
		json_put_int(w, value);
		if (__builtin_add_overflow(sum, value, &sum))
			sum = INT64_MAX;
	}
	json_close(w, ']');
	return sum;
}

static void put_profile(struct json_writer *w, const struct speedscope_json *s,
			const struct speedscope_texts *texts, bool is_base)
{
	json_open(w, '{');
	json_member_text(w, "type", "sampled");
	json_member_text(w, "name", is_base ? texts->base : texts->name);
	json_member_text(w, "unit", unit_of(texts->unit));
	json_member_int(w, "startValue", 0);
	put_samples(w, s, is_base);
	json_member_int(w, "endValue", put_weights(w, s, is_base));
	json_close(w, '}');
}

int speedscope_json_write(const struct speedscope_json *s, const struct speedscope_texts *texts,
			  struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "$schema", SCHEMA);
	json_member_text(&w, "name", texts->title);
	json_member_text(&w, "exporter", texts->exporter);
	json_member_int(&w, "activeProfileIndex", 0);
	put_frames(&w, s);
	json_key(&w, "profiles");
	json_open(&w, '[');
	put_profile(&w, s, texts, false);
	if (texts->base)
		put_profile(&w, s, texts, true);
	json_close(&w, ']');
	json_close(&w, '}');
	return json_writer_finish(&w);
}
