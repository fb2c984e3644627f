/*
 * A record consists of one struct unwind_process, the starts of its mappings, what they are, and
 * how frames of an interpreter are found, each an extent of the slabs.
 *
 * The process may execute another program while its record is made. The BPF program has then
 * removed what was there before, and not what is put there after. So once the record is there, the
 * process is looked at again, and the record is withdrawn if it has another executable by then, or
 * its stack begins elsewhere: each execution places it anew, also that of the same file.
 */
#include "node-agent/unwind/process_mappings.h"

#include <errno.h>

#include "common/data/table.h"
#include "node-agent/unwind/table_owners.h"

#define EXTENTS 5 /* process, starts, mappings, mappings, chain */
#define CHAIN_EXTENT 4

/* What slabs need not be read for. */
struct part {
	uint32_t table;
	uint32_t mapping; /* the first of the snapshot's that it is made of */
};

struct record {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	struct process_snapshot *snapshot; /* a reference */
	struct unwind_extent extents[EXTENTS];
	struct unwind_ref ref; /* in the hash map */
	uint8_t unknown;       /* language of its interpreter, if that is not known; or 0 */
	uint32_t n;
	struct part parts[]; /* of its n mappings */
};

struct process_mappings {
	struct process_mappings_config cfg;
	struct record *records;
	struct process_mappings_stats stats;
	/* while a record is made */
	uint64_t starts[UNWIND_MAPPINGS];
	struct unwind_mapping mappings[UNWIND_MAPPINGS];
	struct part parts[UNWIND_MAPPINGS];
	uint32_t n;
	uint32_t owner;
	uint8_t unknown;
};

static struct unwind_ref ref_to(const struct unwind_extent *e, size_t element_bytes)
{
	return (struct unwind_ref){e->block,
				   (uint16_t)(e->unit * UNWIND_UNIT_BYTES / element_bytes)};
}

/* ---- release ---- */

static void unref_tables(const struct process_mappings *p, const struct record *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		file_tables_unref(p->cfg.tables, c->parts[i].table);
}

static void put_extents(struct process_mappings *p, const struct unwind_extent extents[EXTENTS],
			uint64_t now_ns)
{
	for (size_t i = 0; i < EXTENTS; i++) {
		p->stats.bytes -= (uint64_t)extents[i].n_units * UNWIND_UNIT_BYTES;
		unwind_slabs_put(p->cfg.slabs, &extents[i], now_ns);
	}
}

/* It is in no table any more, and the hash map does not lead to it. */
static void release(struct process_mappings *p, struct record *c, uint64_t now_ns)
{
	unref_tables(p, c);
	put_extents(p, c->extents, now_ns);
	process_snapshot_unref(c->snapshot);
	table_free(c);
}

/* Whether the hash map leads to this record, or to one of a later process. */
static bool is_in_map(const struct process_mappings *p, const struct record *c)
{
	const struct unwind_memory *memory = p->cfg.memory;
	struct unwind_ref ref;

	return memory->get_process(memory->ctx, c->pid, &ref) == 0 &&
	       memcmp(&ref, &c->ref, sizeof(ref)) == 0;
}

static void detach(struct process_mappings *p, struct record *c)
{
	HASH_DEL(p->records, c);
	p->stats.n_processes--;
	p->stats.n_chains -= c->extents[CHAIN_EXTENT].n_units > 0;
	p->stats.n_unknown[c->unknown]--;
}

static void remove_from_map(const struct process_mappings *p, const struct record *c)
{
	const struct unwind_memory *memory = p->cfg.memory;

	if (is_in_map(p, c))
		(void)memory->remove_process(memory->ctx, c->pid);
}

static void remove_record(struct process_mappings *p, struct record *c, uint64_t now_ns)
{
	remove_from_map(p, c);
	detach(p, c);
	release(p, c, now_ns);
}

static struct record *find(const struct process_mappings *p, pid_t pid)
{
	struct record *c;

	HASH_FIND(hh, p->records, &pid, sizeof(pid), c);
	return c;
}

void process_mappings_remove(struct process_mappings *p, pid_t pid, uint64_t start_time,
			     uint64_t now_ns)
{
	struct record *c = find(p, pid);

	if (c && c->snapshot->start_time == start_time)
		remove_record(p, c, now_ns);
}

void process_mappings_sweep(struct process_mappings *p, uint64_t now_ns)
{
	struct record *c, *next;

	for (c = p->records; c; c = next) {
		next = c->hh.next;
		if (!is_in_map(p, c))
			remove_record(p, c, now_ns);
	}
}

/* ---- samples ---- */

/* The last of n starts that is not after the address; n if there is none. */
static uint32_t find_start(const uint64_t *starts, uint32_t n, uint64_t address)
{
	uint32_t first = 0, end = n;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (starts[middle] <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first > 0 ? first - 1 : n;
}

void process_mappings_note_sample(struct process_mappings *p, pid_t pid, uint64_t start_boottime_ns,
				  const uint64_t *addresses, size_t n)
{
	const struct record *c = find(p, pid);
	const struct unwind_mapping *mappings[2], *m;
	const uint64_t *starts;

	if (!c || c->n == 0 || c->snapshot->start_boottime_ns != start_boottime_ns)
		return;
	starts = unwind_slabs_at(p->cfg.slabs, &c->extents[1]);
	mappings[0] = unwind_slabs_at(p->cfg.slabs, &c->extents[2]);
	mappings[1] = c->extents[3].n_units > 0 ? unwind_slabs_at(p->cfg.slabs, &c->extents[3])
						: mappings[0];
	if (!starts || !mappings[0] || !mappings[1])
		return;
	file_tables_begin_sample(p->cfg.tables);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = find_start(starts, c->n, addresses[i]);

		if (at == c->n)
			continue;
		m = &mappings[at / UNWIND_BLOCK_MAPPINGS][at % UNWIND_BLOCK_MAPPINGS];
		if ((addresses[i] - starts[at]) >> UNWIND_MAPPING_SHIFT < m->n_pages)
			file_tables_note_sample(p->cfg.tables, m->table, addresses[i] - m->bias);
	}
}

/* ---- make ---- */

/* Neighbours that are the same to a walk become one mapping. */
static bool extend(struct process_mappings *p, const struct process_mapping *m, uint32_t table,
		   uint64_t bias)
{
	struct unwind_mapping *last = p->n > 0 ? &p->mappings[p->n - 1] : NULL;
	uint64_t end, pages = (m->end - m->start) >> UNWIND_MAPPING_SHIFT;

	if (!last || last->table != table || last->bias != bias)
		return false;
	end = p->starts[p->n - 1] + ((uint64_t)last->n_pages << UNWIND_MAPPING_SHIFT);
	if (end != m->start || last->n_pages + pages > UINT32_MAX)
		return false;
	last->n_pages += (uint32_t)pages;
	return true;
}

static bool add(struct process_mappings *p, const struct process_snapshot *s, size_t i)
{
	const struct process_mapping *m = &s->mappings[i];
	uint64_t bias, pages = (m->end - m->start) >> UNWIND_MAPPING_SHIFT;
	uint32_t table = file_tables_get(p->cfg.tables, m, p->owner, &bias);

	if (extend(p, m, table, bias))
		return true;
	if (p->n == UNWIND_MAPPINGS)
		return false;
	file_tables_ref(p->cfg.tables, table);
	p->starts[p->n] = m->start;
	p->parts[p->n] = (struct part){table, (uint32_t)i};
	p->mappings[p->n++] = (struct unwind_mapping){
		.bias = bias,
		.n_pages = pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages,
		.table = table,
	};
	return true;
}

/* Files come first if there is no room for everything. Returns whether something was left out. */
static bool collect(struct process_mappings *p, const struct process_snapshot *s)
{
	size_t n_files = 0, room;
	bool cut = false;

	for (size_t i = 0; i < s->n_mappings; i++)
		n_files += s->mappings[i].kind != PROCESS_MAPPING_ANONYMOUS;
	room = n_files < UNWIND_MAPPINGS ? UNWIND_MAPPINGS - n_files : 0;
	p->n = 0;
	p->owner = table_owner_of(s->workload->container_id);
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct process_mapping *m = &s->mappings[i];
		bool file = m->kind != PROCESS_MAPPING_ANONYMOUS;

		/* [vsyscall]: the search compares signed differences, and nothing runs there */
		if ((int64_t)m->start < 0)
			continue;
		if (!file && room > 0)
			room--;
		else if (!file)
			cut = true;
		if ((!file && cut) || add(p, s, i))
			continue;
		cut = true;
		p->stats.lost_mappings += file;
	}
	return cut;
}

static int write_extent(struct process_mappings *p, const void *from, size_t bytes,
			struct unwind_extent *ret)
{
	int r;

	if (bytes == 0)
		return 0;
	r = unwind_slabs_write(p->cfg.slabs, from, bytes, ret);
	if (r == 0)
		p->stats.bytes += (uint64_t)ret->n_units * UNWIND_UNIT_BYTES;
	return r;
}

_Static_assert(UNWIND_CHAIN_UNIT == UNWIND_UNIT_BYTES, "struct unwind_process.chain");

/* Without room, the process is walked without frames of its interpreter. */
static void write_chain(struct process_mappings *p, const struct process_snapshot *s,
			struct unwind_extent *ret)
{
	struct chain_layout chain;
	int r = p->cfg.find_chain ? p->cfg.find_chain(p->cfg.ctx, s, &chain) : -ENOENT;

	p->unknown = r == -ENOTSUP ? chain.language % PROCESS_MAPPINGS_LANGUAGES : 0;
	if (r < 0)
		return;
	if (write_extent(p, &chain, sizeof(chain), ret) < 0) {
		*ret = (struct unwind_extent){0};
		p->stats.lost_budget++;
	}
}

static int write_record(struct process_mappings *p, const struct process_snapshot *s, bool cut,
			struct unwind_extent extents[EXTENTS])
{
	uint32_t first = p->n < UNWIND_BLOCK_MAPPINGS ? p->n : UNWIND_BLOCK_MAPPINGS;
	struct unwind_process process = {
		.start_boottime_ns = s->start_boottime_ns,
		.tgid = (uint32_t)s->pid,
		.flags = cut ? UNWIND_PROCESS_OPEN : 0,
		.n_mappings = p->n,
	};
	int r = write_extent(p, p->starts, p->n * sizeof(p->starts[0]), &extents[1]);

	if (r == 0)
		r = write_extent(p, p->mappings, first * sizeof(p->mappings[0]), &extents[2]);
	if (r == 0)
		r = write_extent(p, p->mappings + first, (p->n - first) * sizeof(p->mappings[0]),
				 &extents[3]);
	if (r == 0)
		write_chain(p, s, &extents[CHAIN_EXTENT]);
	process.chain = ref_to(&extents[CHAIN_EXTENT], UNWIND_CHAIN_UNIT);
	process.starts = ref_to(&extents[1], sizeof(p->starts[0]));
	process.mappings[0] = ref_to(&extents[2], sizeof(p->mappings[0]));
	process.mappings[1] = ref_to(&extents[3], sizeof(p->mappings[0]));
	return r == 0 ? write_extent(p, &process, sizeof(process), &extents[0]) : r;
}

/* Whether it still executes what it did when the snapshot was made. */
static bool is_same_program(const struct process_mappings *p, const struct process_snapshot *s)
{
	AUTO_CLOSE int fd = procfs_open_process(p->cfg.proc_fd, s->pid);
	struct proc_stat st;
	struct file_id exe;

	if (fd < 0 || procfs_read_stat(fd, &st) < 0 || st.start_time != s->start_time)
		return false;
	if (procfs_read_exe_id(fd, &exe) < 0)
		return false;
	/* the same file, executed again */
	if (s->start_stack != 0 && st.start_stack != 0 && st.start_stack != s->start_stack)
		return false;
	for (size_t i = 0; i < s->n_mappings; i++) {
		if (s->mappings[i].file && file_id_equal(&s->mappings[i].file->id, &exe))
			return true;
	}
	return false;
}

/* The executable lies before libraries, or is the dynamic linker, if that was given a program. */
static void want_executable(struct process_mappings *p, const struct process_snapshot *s)
{
	const struct process_mapping *m = s->mappings;

	while (m < s->mappings + s->n_mappings && !m->file)
		m++;
	for (uint32_t i = 0; m < s->mappings + s->n_mappings && i < p->n; i++) {
		if (p->starts[i] == m->start)
			file_tables_want(p->cfg.tables, p->parts[i].table, m->file);
	}
}

static void want_all(struct process_mappings *p, const struct process_snapshot *s)
{
	for (uint32_t i = 0; i < p->n; i++)
		file_tables_want(p->cfg.tables, p->parts[i].table,
				 s->mappings[p->parts[i].mapping].file);
}

static void discard_extents(struct process_mappings *p, const struct unwind_extent extents[EXTENTS])
{
	for (size_t i = 0; i < EXTENTS; i++) {
		p->stats.bytes -= (uint64_t)extents[i].n_units * UNWIND_UNIT_BYTES;
		unwind_slabs_put_unseen(p->cfg.slabs, &extents[i]);
	}
}

static struct record *new_record(struct process_mappings *p, struct process_snapshot *s)
{
	size_t bytes = p->n * sizeof(p->parts[0]);
	struct record *c = table_malloc(sizeof(*c) + bytes);

	if (!c)
		return NULL;
	*c = (struct record){.pid = s->pid, .n = p->n, .snapshot = process_snapshot_ref(s)};
	memcpy(c->parts, p->parts, bytes);
	return c;
}

/* Returns NULL without memory or room. */
static struct record *make_record(struct process_mappings *p, struct process_snapshot *s)
{
	struct unwind_extent extents[EXTENTS] = {0};
	bool cut = collect(p, s);
	int r = write_record(p, s, cut, extents);
	struct record *c = r == 0 ? new_record(p, s) : NULL;

	if (!c) {
		p->stats.lost_budget += r == -ENOSPC;
		for (uint32_t i = 0; i < p->n; i++)
			file_tables_unref(p->cfg.tables, p->parts[i].table);
		discard_extents(p, extents);
		return NULL;
	}
	if (p->cfg.want_all)
		want_all(p, s);
	else
		want_executable(p, s);
	memcpy(c->extents, extents, sizeof(extents));
	c->ref = ref_to(&extents[0], sizeof(struct unwind_process));
	c->unknown = p->unknown;
	return c;
}

/* Takes c over. Returns false if there is no room for it. */
static bool publish(struct process_mappings *p, struct record *c, uint64_t now_ns)
{
	const struct unwind_memory *memory = p->cfg.memory;

	HASH_ADD(hh, p->records, pid, sizeof(c->pid), c);
	if (!TABLE_ADDED(hh, c)) {
		release(p, c, now_ns);
		return false;
	}
	p->stats.n_processes++;
	p->stats.n_chains += c->extents[CHAIN_EXTENT].n_units > 0;
	p->stats.n_unknown[c->unknown]++;
	if (memory->put_process(memory->ctx, c->pid, &c->ref) == 0)
		return true;
	p->stats.lost_processes++;
	detach(p, c);
	release(p, c, now_ns);
	return false;
}

void process_mappings_put(struct process_mappings *p, struct process_snapshot *s, uint64_t now_ns)
{
	struct record *c = make_record(p, s), *old = find(p, s->pid);

	if (old)
		detach(p, old);
	if (c && !publish(p, c, now_ns))
		c = NULL;
	/* after the new one is there, so that tables of both keep their indexes */
	if (old) {
		remove_from_map(p, old);
		release(p, old, now_ns);
	}
	if (c && !is_same_program(p, s))
		remove_record(p, c, now_ns);
}

/* ---- others ---- */

struct mapped_file *process_mappings_find_file(const struct process_mappings *p, uint32_t table)
{
	for (const struct record *c = p->records; c; c = c->hh.next) {
		for (uint32_t i = 0; i < c->n; i++) {
			const struct part *part = &c->parts[i];
			struct mapped_file *file = c->snapshot->mappings[part->mapping].file;

			if (part->table == table && file && file->fd >= 0)
				return file;
		}
	}
	return NULL;
}

const struct process_snapshot *process_mappings_find_process(const struct process_mappings *p,
							     uint32_t table)
{
	for (const struct record *c = p->records; c; c = c->hh.next) {
		for (uint32_t i = 0; i < c->n; i++) {
			if (c->parts[i].table == table)
				return c->snapshot;
		}
	}
	return NULL;
}

int process_mappings_new(struct process_mappings **ret, const struct process_mappings_config *cfg)
{
	struct process_mappings *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	*ret = p;
	return 0;
}

void process_mappings_free(struct process_mappings *p)
{
	if (!p)
		return;
	while (p->records)
		remove_record(p, p->records, 0);
	free(p);
}

void process_mappings_read_stats(const struct process_mappings *p,
				 struct process_mappings_stats *ret)
{
	*ret = p->stats;
}
