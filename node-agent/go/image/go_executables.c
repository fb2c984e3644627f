/*
 * The key is the content, not the file: the same binary in the images of two containers is
 * two files on two devices. A build id alone does not identify content, because some build
 * systems give all programs the same one, and stripping a program leaves it unchanged. So the
 * key is a hash of the build id together with the file's size, its entry point and the places
 * and sizes of its segments.
 *
 * Entries are evicted in the order of their last use, which is the order of the hash table's
 * list: using an entry takes it out and puts it in again at the end.
 */
#include "node-agent/go/image/go_executables.h"

#include <errno.h>

#include "common/data/table.h"
#include "node-agent/go/image/go_image.h"
#include "node-agent/go/image/go_release.h"

struct entry {
	UT_hash_handle hh; /* its list is in the order of last use */
	uint64_t key[2];
	struct go_executable executable;
};

struct go_executables {
	struct entry *entries;
};

int go_executables_new(struct go_executables **ret)
{
	struct go_executables *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	*ret = x;
	return 0;
}

static void drop(struct go_executables *x, struct entry *e)
{
	HASH_DEL(x->entries, e);
	go_frames_free(e->executable.frames);
	table_free(e);
}

void go_executables_free(struct go_executables *x)
{
	struct entry *e, *next;

	if (!x)
		return;
	for (e = x->entries; e; e = next) {
		next = e->hh.next;
		drop(x, e);
	}
	free(x);
}

static void key_of(const struct program_target *t, uint64_t ret[2])
{
	const struct elf_layout *l = &t->layout;
	XXH128_hash_t h;
	struct {
		uint64_t build_id[2];
		uint64_t file_bytes;
		uint64_t entry;
		uint64_t segments[ELF_LAYOUT_SEGMENTS_MAX][3];
	} facts = {
		.build_id = {l->build_id[0], l->build_id[1]},
		.file_bytes = t->file.size_bytes,
		.entry = l->entry,
	};

	for (uint32_t i = 0; i < l->n_segments; i++) {
		facts.segments[i][0] = l->segments[i].vaddr;
		facts.segments[i][1] = l->segments[i].file_bytes;
		facts.segments[i][2] = l->segments[i].memory_bytes;
	}
	h = XXH3_128bits(&facts, sizeof(facts));
	ret[0] = h.low64;
	ret[1] = h.high64;
}

static int examine(const struct program_target *t, struct go_executable *ret)
{
	struct go_image image = {
		.layout = &t->layout,
		.file = &t->file,
		.memory = &t->memory,
		.bias = t->bias,
	};
	struct byte_source file;
	uint64_t module = 0;
	int r = go_release_minor(&image, &image.minor);

	if (r < 0)
		return r;
	if (image.minor < GO_EXECUTABLES_MINOR_MIN)
		return -ENOTSUP;
	byte_source_from_image(&file, &image);
	r = go_image_find_module(&image, &file, &module);
	if (r < 0)
		return r;
	ret->minor = image.minor;
	ret->at[GO_MODULE_DATA] = module - t->bias;
	ret->searched = UINT32_C(1) << GO_MODULE_DATA;
	return go_frames_new(&ret->frames, GO_EXECUTABLE_MAX_BYTES);
}

static void make_room(struct go_executables *x)
{
	size_t bytes = 0;

	for (const struct entry *e = x->entries; e; e = e->hh.next)
		bytes += go_frames_bytes(e->executable.frames);
	while (x->entries &&
	       (HASH_COUNT(x->entries) >= GO_EXECUTABLES_MAX || bytes > GO_EXECUTABLES_MAX_BYTES)) {
		bytes -= go_frames_bytes(x->entries->executable.frames);
		drop(x, x->entries);
	}
}

static int add(struct go_executables *x, const uint64_t key[2], const struct go_executable *what,
	       struct go_executable **ret)
{
	struct entry *e = table_malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct entry){.key = {key[0], key[1]}, .executable = *what};
	HASH_ADD(hh, x->entries, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	*ret = &e->executable;
	return 0;
}

int go_executables_get(struct go_executables *x, const struct program_target *t,
		       struct go_executable **ret)
{
	struct go_executable found = {0};
	struct entry *e;
	uint64_t key[2];
	int r;

	key_of(t, key);
	HASH_FIND(hh, x->entries, key, sizeof(key), e);
	if (e) {
		/* taken out, to be added again at the end of the list */
		found = e->executable;
		HASH_DEL(x->entries, e);
		table_free(e);
	} else {
		r = examine(t, &found);
		if (r < 0)
			return r;
	}
	make_room(x);
	r = add(x, key, &found, ret);
	if (r < 0)
		go_frames_free(found.frames);
	return r;
}
