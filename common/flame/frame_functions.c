#include "common/flame/frame_functions.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/flame/frame_text.h"

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

static bool find_function(const struct frame_functions *f, uint32_t hash, uint32_t name,
			  uint32_t key, uint32_t *ret)
{
	uint32_t at = hash;

	while (number_index_next(&f->by_name, hash, &at, ret)) {
		const struct frame_function *item = &f->items[*ret];

		if (item->name == name && (item->key == key || item->label == key))
			return true;
	}
	return false;
}

/* The first native function of a name, or NULL. */
static struct frame_function *find_native(const struct frame_functions *f, uint32_t name)
{
	uint32_t hash = number_hash(name), at = hash, i;

	while (number_index_next(&f->natives, hash, &at, &i)) {
		if (f->items[i].name == name)
			return &f->items[i];
	}
	return NULL;
}

/*
 * Whether a native function without its source and one with it are the same. Sets *ret to it; it
 * has both keys then. Otherwise neither will be the same as another one.
 */
static bool join_native(struct frame_functions *f, const struct frame_function *new, bool is_label,
			uint32_t *ret)
{
	struct frame_function *known = find_native(f, new->name);
	size_t len;
	const char *key;

	if (!known || !known->is_alone)
		return false;
	known->is_alone = false;
	key = intern_get(f->files, known->key, &len);
	if (frame_file_is_label(key, len) == is_label)
		return false;
	if (is_label) {
		known->label = new->key;
	} else {
		known->label = known->key;
		known->key = new->key;
		known->file = new->file;
	}
	*ret = (uint32_t)(known - f->items);
	return true;
}

static int add_item(struct frame_functions *f, struct frame_function new, bool is_native,
		    uint32_t *ret)
{
	int r = ARRAY_RESERVE(f->items, f->max_items, (size_t)f->n_items + 1);

	new.label = new.key;
	if (r == 0 && is_native && !find_native(f, new.name)) {
		new.is_alone = true;
		r = number_index_add(&f->natives, number_hash(new.name), f->n_items);
	}
	if (r < 0)
		return r;
	f->items[f->n_items] = new;
	*ret = f->n_items++;
	return 0;
}

/* Returns 0, -EFBIG if the texts exceed their limit, or -ENOMEM. */
static int add_function(struct frame_functions *f, const struct frame_text *text, uint32_t *ret)
{
	struct frame_function new = {0};
	char buf[FRAME_FILE_KEY_MAX];
	const char *key_text;
	size_t key_len = frame_file_key(text->file, text->file_len, buf, &key_text);
	bool is_label = frame_file_is_label(key_text, key_len);
	bool is_native = is_label || frame_file_is_native(text->file, text->file_len);
	uint32_t hash;
	int r = intern_add(f->names, text->name, text->name_len, &new.name);

	if (r == 0)
		r = intern_add(f->files, text->file, text->file_len, &new.file);
	if (r == 0)
		r = intern_add(f->files, key_text, key_len, &new.key);
	if (r < 0)
		return r;
	hash = number_hash((uint64_t) new.name << 32 | new.key);
	if (find_function(f, hash, new.name, new.key, ret)) {
		if (f->items[*ret].key == new.key)
			keep_first_file(f, &f->items[*ret], new.file);
		return 0;
	}
	if (!is_native || !join_native(f, &new, is_label, ret))
		r = add_item(f, new, is_native, ret);
	return r == 0 ? number_index_add(&f->by_name, hash, *ret) : r;
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
	number_index_fini(&f->by_name);
	number_index_fini(&f->natives);
	free(f->items);
	free(f->places);
	free(f->by_id);
	*f = (struct frame_functions){0};
}

/* Ids and numbers of texts are small and dense, so tables by them grow to their number. */
static int reserve_place(struct frame_place **places, size_t *max, uint32_t number)
{
	size_t had = *max;
	int r = ARRAY_RESERVE(*places, *max, (size_t)number + 1);

	if (*max > had)
		memset(*places + had, 0, (*max - had) * sizeof(**places));
	return r;
}

int frame_functions_find(struct frame_functions *f, const struct flame_frame *frame,
			 struct frame_place *ret)
{
	bool has_id = frame->id > 0;
	struct frame_place **places = has_id ? &f->by_id : &f->places;
	uint32_t number = frame->id;
	int r = has_id ? 0 : intern_add(f->texts, frame->text, frame->len, &number);

	if (r < 0)
		return r;
	r = reserve_place(places, has_id ? &f->max_by_id : &f->max_places, number);
	if (r < 0)
		return r;
	if (!(*places)[number].known)
		r = add_place(f, frame, &(*places)[number]);
	if (r < 0)
		return r;
	*ret = (*places)[number];
	return 0;
}
