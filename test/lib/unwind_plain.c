#include "test/lib/unwind_plain.h"

#include <errno.h>

static int make_slab(void *ctx, unsigned slab, void **ret)
{
	struct unwind_plain *p = ctx;

	p->slabs[slab] = calloc(UNWIND_SLAB_BLOCKS, UNWIND_BLOCK_BYTES);
	*ret = p->slabs[slab];
	return *ret ? 0 : -ENOMEM;
}

static void free_slab(void *ctx, unsigned slab, void *memory)
{
	struct unwind_plain *p = ctx;

	p->slabs[slab] = NULL;
	free(memory);
}

static int find_process(const struct unwind_plain *p, pid_t pid)
{
	for (unsigned i = 0; i < p->max_processes; i++) {
		if (p->processes[i].pid == pid)
			return (int)i;
	}
	return -ENOENT;
}

static int put_process(void *ctx, pid_t pid, const struct unwind_ref *ref)
{
	struct unwind_plain *p = ctx;
	int i = find_process(p, pid);

	if (i < 0)
		i = find_process(p, 0);
	if (i < 0)
		return -E2BIG;
	p->processes[i].pid = pid;
	p->processes[i].ref = *ref;
	return 0;
}

static int get_process(void *ctx, pid_t pid, struct unwind_ref *ret)
{
	struct unwind_plain *p = ctx;
	int i = find_process(p, pid);

	if (i < 0)
		return i;
	*ret = p->processes[i].ref;
	return 0;
}

static int remove_process(void *ctx, pid_t pid)
{
	struct unwind_plain *p = ctx;
	int i = find_process(p, pid);

	if (i < 0)
		return i;
	p->processes[i].pid = 0;
	return 0;
}

static unsigned find_file(const struct unwind_plain *p, const struct event_file *key)
{
	unsigned i = 0;

	while (i < p->n_files && memcmp(&p->files[i].key, key, sizeof(*key)) != 0)
		i++;
	return i;
}

static int put_file(void *ctx, const struct event_file *key, const struct unwind_file *file)
{
	struct unwind_plain *p = ctx;
	unsigned i = find_file(p, key);

	if (i == UNWIND_PLAIN_FILES)
		return -E2BIG;
	p->files[i].key = *key;
	p->files[i].file = *file;
	p->n_files += i == p->n_files;
	return 0;
}

static int remove_file(void *ctx, const struct event_file *key)
{
	struct unwind_plain *p = ctx;
	unsigned i = find_file(p, key);

	if (i == p->n_files)
		return -ENOENT;
	p->files[i] = p->files[--p->n_files];
	return 0;
}

const struct unwind_file *unwind_plain_file(const struct unwind_plain *p,
					    const struct event_file *key)
{
	unsigned i = find_file(p, key);

	return i < p->n_files ? &p->files[i].file : NULL;
}

void unwind_plain_init(struct unwind_plain *p)
{
	*p = (struct unwind_plain){.max_processes = UNWIND_PLAIN_PROCESSES};
	p->memory = (struct unwind_memory){
		.tables = p->tables,
		.used = p->used,
		.make_slab = make_slab,
		.free_slab = free_slab,
		.put_process = put_process,
		.get_process = get_process,
		.remove_process = remove_process,
		.put_file = put_file,
		.remove_file = remove_file,
		.ctx = p,
	};
}

static const union unwind_block *block_of(const struct unwind_plain *p, struct unwind_ref ref)
{
	const uint8_t *slab = p->slabs[ref.block / UNWIND_SLAB_BLOCKS];

	if (ref.block == 0 || !slab)
		return NULL;
	return (const union unwind_block *)(const void *)(slab +
							  (size_t)(ref.block % UNWIND_SLAB_BLOCKS) *
								  UNWIND_BLOCK_BYTES);
}

const struct unwind_process *unwind_plain_process(const struct unwind_plain *p, pid_t pid)
{
	int i = find_process(p, pid);

	if (i < 0)
		return NULL;
	return &block_of(p, p->processes[i].ref)->processes[p->processes[i].ref.first];
}

const struct unwind_mapping *unwind_plain_mapping(const struct unwind_plain *p, pid_t pid,
						  uint64_t address)
{
	const struct unwind_process *process = unwind_plain_process(p, pid);
	const uint64_t *starts;
	uint32_t i = 0;
	const struct unwind_mapping *m;
	struct unwind_ref ref;

	if (!process || process->n_mappings == 0)
		return NULL;
	starts = (const uint64_t *)block_of(p, process->starts)->starts + process->starts.first;
	if (address < starts[0])
		return NULL;
	while (i + 1 < process->n_mappings && starts[i + 1] <= address)
		i++;
	ref = process->mappings[i / UNWIND_BLOCK_MAPPINGS];
	m = &block_of(p, ref)->mappings[ref.first + i % UNWIND_BLOCK_MAPPINGS];
	return (address - starts[i]) >> UNWIND_MAPPING_SHIFT < m->n_pages ? m : NULL;
}

const struct unwind_rule *unwind_plain_rule(const struct unwind_plain *p, pid_t pid,
					    uint64_t address)
{
	const struct unwind_mapping *m = unwind_plain_mapping(p, pid, address);
	const struct unwind_table *t;
	const struct unwind_page *page;
	const struct unwind_row *rows;
	uint64_t in_file;
	uint32_t n, i = 0;
	struct unwind_ref ref;

	if (!m)
		return NULL;
	t = &p->tables[m->table];
	in_file = address - m->bias;
	n = (uint32_t)(in_file >> UNWIND_PAGE_SHIFT) - t->first_page;
	if (n >= t->n_pages)
		return NULL;
	ref = t->pages[n / UNWIND_BLOCK_PAGES];
	page = &block_of(p, ref)->pages[ref.first + n % UNWIND_BLOCK_PAGES];
	if (page->n == 0)
		return NULL;
	rows = &block_of(p, page->rows)->rows[page->rows.first];
	while (i + 1 < page->n && rows[i + 1].address <= in_file % UNWIND_PAGE_BYTES)
		i++;
	ref = t->rules[rows[i].rule / UNWIND_BLOCK_RULES];
	return &block_of(p, ref)->rules[ref.first + rows[i].rule % UNWIND_BLOCK_RULES];
}
