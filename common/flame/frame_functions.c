#include "common/flame/frame_functions.h"

#include <errno.h>

#include "common/flame/frame_text.h"

/* Makes room for index i, by doubling the storage; new elements are zero. */
static int reserve(void **array, size_t i, size_t *max, size_t size)
{
	size_t bigger = *max ? *max : 256;
	void *moved;

	if (i < *max)
		return 0;
	while (bigger <= i)
		bigger *= 2;
	moved = reallocarray(*array, bigger, size);
	if (!moved)
		return -ENOMEM;
	memset((char *)moved + *max * size, 0, (bigger - *max) * size);
	*array = moved;
	*max = bigger;
	return 0;
}

/* The first one in the order of bytes, so that it does not depend on the order of stacks. */
static void keep_first_file(struct frame_functions *f, struct frame_function *item, uint32_t file)
{
	size_t a_len, b_len;
	const char *a = intern_get(f->files, item->file, &a_len);
	const char *b = intern_get(f->files, file, &b_len);
	int c;

	if (item->file == file)
		return;
	c = memcmp(b, a, a_len < b_len ? a_len : b_len);
	if (c < 0 || (c == 0 && b_len < a_len))
		item->file = file;
}

/* Returns 0, -EFBIG if the texts exceed their limit, or -ENOMEM. */
static int add_function(struct frame_functions *f, const struct frame_text *text, uint32_t *ret)
{
	uint32_t name = 0, file = 0, key = 0;
	size_t max_items = f->max_items;
	char buf[FRAME_FILE_KEY_MAX];
	void *items = f->items;
	const char *key_text;
	size_t key_len = frame_file_key(text->file, text->file_len, buf, &key_text);
	int r = intern_add(f->names, text->name, text->name_len, &name);

	if (r == 0)
		r = intern_add(f->files, text->file, text->file_len, &file);
	if (r == 0)
		r = intern_add(f->files, key_text, key_len, &key);
	if (r < 0)
		return r;
	*ret = pair_table_find(&f->by_pair, name, key);
	if (*ret != PAIR_TABLE_ABSENT) {
		keep_first_file(f, &f->items[*ret], file);
		return 0;
	}
	r = reserve(&items, f->n_items, &max_items, sizeof(*f->items));
	f->items = items;
	f->max_items = (uint32_t)max_items;
	if (r == 0)
		r = pair_table_add(&f->by_pair, name, key, f->n_items);
	if (r < 0)
		return r;
	f->items[f->n_items] = (struct frame_function){.name = name, .file = file};
	*ret = f->n_items++;
	return 0;
}

int frame_functions_add(struct frame_functions *f, const char *name, const char *file,
			uint32_t *ret)
{
	const struct frame_text text = {
		.name = name, .name_len = strlen(name), .file = file, .file_len = strlen(file)};

	return add_function(f, &text, ret);
}

static int add_place(struct frame_functions *f, const struct flame_frame *frame,
		     struct frame_place *ret)
{
	struct frame_text parts;
	int r;

	frame_text_split(&parts, frame->text, frame->len);
	r = add_function(f, &parts, &ret->function);
	if (r < 0)
		return r;
	ret->known = true;
	ret->inlined = parts.inlined;
	ret->line = parts.line;
	return 0;
}

int frame_functions_init(struct frame_functions *f, size_t max_text_bytes)
{
	static const struct frame_text other = {.name = "other", .name_len = 5, .file = ""};
	uint32_t id;
	int r;

	*f = (struct frame_functions){0};
	r = intern_new(&f->texts, max_text_bytes);
	if (r == 0)
		r = intern_new(&f->names, max_text_bytes);
	if (r == 0)
		r = intern_new(&f->files, max_text_bytes);
	if (r == 0)
		r = add_function(f, &other, &id); /* FRAME_FUNCTION_OTHER */
	return r == 0 ? 0 : -ENOMEM;
}

void frame_functions_fini(struct frame_functions *f)
{
	intern_free(f->texts);
	intern_free(f->names);
	intern_free(f->files);
	pair_table_fini(&f->by_pair);
	free(f->items);
	free(f->places);
	free(f->by_id);
	*f = (struct frame_functions){0};
}

/* Ids and numbers of texts are small and dense, so tables by them grow to their number. */
int frame_functions_find(struct frame_functions *f, const struct flame_frame *frame,
			 struct frame_place *ret)
{
	uint32_t id = frame->id;
	void *storage = id > 0 ? f->by_id : f->places;
	size_t *max = id > 0 ? &f->max_by_id : &f->max_places;
	struct frame_place *place;
	int r = id > 0 ? 0 : intern_add(f->texts, frame->text, frame->len, &id);

	if (r < 0)
		return r;
	r = reserve(&storage, id, max, sizeof(*place));
	if (frame->id > 0)
		f->by_id = storage;
	else
		f->places = storage;
	if (r < 0)
		return r;
	place = (struct frame_place *)storage + id;
	if (!place->known)
		r = add_place(f, frame, place);
	*ret = *place;
	return r;
}
