/*
 * Two identities meet here. A file is found by its struct file_id, which a mapping has and
 * which costs no read; a replaced file has another one. Its symbol tables are shared by
 * content, so that the hundred copies of a library in a hundred containers have one table.
 * That is why an object has a table key as well, made from the build id and from where the
 * symbols lie.
 *
 * Objects also have a number, unique for the life of the cache, by which the frame cache
 * distinguishes files: a number is not used again after its object was evicted, so cached
 * frames need not be removed.
 */
#include "node-agent/symbol/object_cache.h"

#include <errno.h>

#include "common/text/utf8.h"

struct object_cache {
	struct object *objects; /* by id, in order of insertion */
	struct object *last;    /* found last: neighbouring frames are mostly in one file */
	uint32_t n_numbers;
	uint32_t cycle;
};

int object_cache_new(struct object_cache **ret)
{
	struct object_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*ret = c;
	return 0;
}

static void object_free(struct object *o)
{
	debug_companion_fini(&o->debug);
	free(o->layout);
	dotnet_image_free(o->dotnet);
	free(o->name);
	free(o->label);
	free(o->unnamed_label);
	free(o);
}
DEFINE_CLEANUP(struct object *, object_free);

void object_cache_free(struct object_cache *c)
{
	struct object *o, *next;

	if (!c)
		return;
	HASH_ITER(hh, c->objects, o, next)
	{
		HASH_DEL(c->objects, o);
		object_free(o);
	}
	free(c);
}

static void use(const struct object_cache *c, struct object *o)
{
	if (o->last_cycle != c->cycle) {
		o->lines_bytes = OBJECT_LINES_BYTES;
		o->lines_ns = OBJECT_LINES_NS;
	}
	o->last_cycle = c->cycle;
}

struct object *object_cache_get(struct object_cache *c, const struct file_id *id)
{
	if (!c->last || !file_id_equal(&c->last->id, id))
		HASH_FIND(hh, c->objects, id, sizeof(*id), c->last);
	if (c->last)
		use(c, c->last);
	return c->last;
}

/* Makes room: evicts what is idle, and in any case the object added first. */
static void evict(struct object_cache *c)
{
	struct object *oldest = c->objects, *o, *next;

	HASH_ITER(hh, c->objects, o, next)
	{
		if (o != oldest && c->cycle - o->last_cycle <= 1)
			continue;
		HASH_DEL(c->objects, o);
		object_free(o);
	}
	c->last = NULL;
}

char *object_name_of_path(const char *path)
{
	static const char deleted[] = " (deleted)", memory[] = "/memfd:";
	const char *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : path;
	size_t len = strlen(base), tail = sizeof(deleted) - 1;
	char *name;

	/* runc runs from "/memfd:runc_cloned:/proc/self/exe" */
	if (strncmp(path, memory, strlen(memory)) == 0) {
		base = path + 1;
		len = strlen("memfd:") + strcspn(path + strlen(memory), ":/");
	}
	if (len > tail && strcmp(base + len - tail, deleted) == 0)
		len -= tail;
	if (len > OBJECT_NAME_MAX_BYTES)
		len = OBJECT_NAME_MAX_BYTES;
	name = malloc(len + 1);
	if (!name)
		return NULL;
	memcpy(name, base, len);
	len = utf8_make_printable(name, len);
	for (size_t i = 0; i < len; i++) {
		if (name[i] == ' ')
			name[i] = '_';
	}
	name[len] = '\0';
	return name;
}

static int set_names(struct object *o, const char *path)
{
	size_t len;

	o->name = object_name_of_path(path);
	if (!o->name)
		return -ENOMEM;
	len = strlen(o->name);
	o->label = malloc(len + 3);
	if (!o->label)
		return -ENOMEM;
	/* the kernel's own images have brackets already, as "[vdso]" */
	if (o->name[0] == '[')
		memcpy(o->label, o->name, len + 1);
	else
		snprintf(o->label, len + 3, "[%s]", o->name);
	return 0;
}

/* Which build the addresses in frames without a name are of. */
static int set_unnamed_label(struct object *o)
{
	const struct elf_layout *l = o->layout;
	char id[2 * ELF_BUILD_ID_MAX_BYTES + 1] = "";

	if (l->gnu_build_id_bytes == 0 || o->name[0] == '[')
		return 0;
	elf_layout_build_id_text(l, id);
	return asprintf(&o->unnamed_label, "[%s@%s]", o->name, id) < 0 ? -ENOMEM : 0;
}

/*
 * Equal build ids mean equal code, not equal files: a stripped copy has the same id. So the
 * places of the symbols are part of the key. A file without a build id shares its tables with
 * no other.
 */
static struct table_key key_of(const struct object *o)
{
	const struct elf_layout *l = o->layout;
	struct {
		uint64_t build_id[2], text_start, text_end, size_bytes;
		uint64_t symbols[4][2];
		struct file_id id;
	} content;
	XXH128_hash_t h;

	memset(&content, 0, sizeof(content));
	content.text_start = l->text_start;
	content.text_end = l->text_end;
	content.size_bytes = o->id.size_bytes;
	for (size_t i = 0; i < ARRAY_SIZE(content.symbols); i++) {
		content.symbols[i][0] = l->sections[ELF_SECTION_SYMTAB + i].offset;
		content.symbols[i][1] = l->sections[ELF_SECTION_SYMTAB + i].size_bytes;
	}
	if (l->has_build_id)
		memcpy(content.build_id, l->build_id, sizeof(content.build_id));
	else
		content.id = o->id;
	h = XXH3_128bits_withSeed(&content, sizeof(content), table_seed);
	return (struct table_key){h.low64, h.high64};
}

int object_cache_add(struct object_cache *c, const struct file_id *id, const char *path,
		     const struct byte_source *src, struct object **ret)
{
	CLEANUP(object_freep) struct object *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->id = *id;
	o->last_cycle = c->cycle;
	o->lines_bytes = OBJECT_LINES_BYTES;
	o->lines_ns = OBJECT_LINES_NS;
	r = set_names(o, path);
	if (r < 0)
		return r;
	o->layout = malloc(sizeof(*o->layout));
	if (!o->layout)
		return -ENOMEM;
	o->status = elf_layout_parse(o->layout, src);
	if (o->status < 0 && o->status != -ENOEXEC && o->status != -EBADMSG)
		return o->status;
	if (o->status == 0) {
		o->key = key_of(o);
		r = set_unnamed_label(o);
		if (r < 0)
			return r;
	} else {
		free(o->layout);
		o->layout = NULL;
		r = dotnet_image_open(&o->dotnet, id, src);
		if (r < 0 && r != -ENOEXEC)
			return r;
	}
	if (HASH_COUNT(c->objects) >= OBJECT_CACHE_MAX)
		evict(c);
	HASH_ADD(hh, c->objects, id, sizeof(o->id), o);
	if (!TABLE_ADDED(hh, o))
		return -ENOMEM;
	o->number = ++c->n_numbers;
	c->last = o;
	*ret = TAKE_PTR(o);
	return 0;
}

void object_cache_end_cycle(struct object_cache *c)
{
	for (struct object *o = c->objects; o; o = o->hh.next)
		debug_companion_end_cycle(&o->debug);
	c->cycle++;
}

size_t object_cache_count(const struct object_cache *c)
{
	return HASH_COUNT(c->objects);
}
