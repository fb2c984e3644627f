/*
 * What lies at the start of an assembly's image in memory says which file was mapped there, and the
 * PDB is beside that. A program that is one file has its assemblies in itself. If the runtime has
 * copied an assembly instead of mapping it, the PDB may still be beside the executable.
 *
 * Most assemblies are the framework's, and have no PDB: that is remembered as well.
 */
#include "node-agent/interpreter/process/loaded_pdbs.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/clock.h"
#include "node-agent/files/pdb_file.h"
#include "node-agent/procfs/procfs.h"

#define MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024)
#define RETRY_NS (60 * NS_PER_S) /* of what may be another time */

struct assembly {
	uint64_t start_time; /* of the process */
	pid_t pid;           /* 0: none */
	uint64_t base;
	uint8_t id[PDB_ID_BYTES];
	int error; /* 0: its PDB is open */
	uint64_t retry_ns;
	uint64_t used;
	struct opened *opened; /* if error is 0 */
};

struct opened {
	struct assembly *of; /* NULL: it is free */
	struct pdb_file file;
};

struct loaded_pdbs {
	struct assembly_pdbs ops; /* first */
	const struct process_snapshot *process;
	const char *proc_root;
	struct deadline_caller *caller;
	struct metric *counts;
	struct assembly assemblies[LOADED_PDBS_MAX];
	struct opened opened[LOADED_PDBS_OPEN_MAX];
	uint64_t clock;
};

/* ---- the cache ---- */

static void forget(struct assembly *a)
{
	if (a->opened) {
		pdb_file_fini(&a->opened->file);
		a->opened->of = NULL;
	}
	*a = (struct assembly){0};
}

static struct assembly *find_known(struct loaded_pdbs *p, const struct loaded_assembly *l)
{
	for (size_t i = 0; i < LOADED_PDBS_MAX; i++) {
		struct assembly *a = &p->assemblies[i];

		if (a->base == l->base && a->pid == p->process->pid &&
		    a->start_time == p->process->start_time &&
		    memcmp(a->id, l->debug->id, sizeof(a->id)) == 0)
			return a;
	}
	return NULL;
}

/* The one that was used the longest time ago. */
static struct assembly *find_oldest(struct loaded_pdbs *p)
{
	struct assembly *oldest = &p->assemblies[0];

	for (size_t i = 1; i < LOADED_PDBS_MAX; i++) {
		if (p->assemblies[i].used < oldest->used)
			oldest = &p->assemblies[i];
	}
	return oldest;
}

/* Likewise of those whose PDB is open; NULL: there are none. *ret_bytes is what they all have. */
static struct assembly *find_oldest_open(const struct loaded_pdbs *p, size_t *ret_bytes)
{
	struct assembly *oldest = NULL;

	*ret_bytes = 0;
	for (size_t i = 0; i < LOADED_PDBS_OPEN_MAX; i++) {
		const struct opened *o = &p->opened[i];

		*ret_bytes += o->file.n_bytes;
		if (o->of && (!oldest || o->of->used < oldest->used))
			oldest = o->of;
	}
	return oldest;
}

static struct opened *find_free(struct loaded_pdbs *p)
{
	for (size_t i = 0; i < LOADED_PDBS_OPEN_MAX; i++) {
		if (!p->opened[i].of)
			return &p->opened[i];
	}
	return NULL;
}

/* Returns where there is room for a PDB that takes so much memory; no single one takes more. */
static struct opened *make_room(struct loaded_pdbs *p, size_t bytes)
{
	size_t used;
	struct assembly *oldest = find_oldest_open(p, &used);
	struct opened *free_one = find_free(p);

	while (oldest && (!free_one || used + bytes > LOADED_PDBS_BYTES)) {
		forget(oldest);
		oldest = find_oldest_open(p, &used);
		free_one = find_free(p);
	}
	return free_one;
}

/* ---- files ---- */

struct path_search {
	uint64_t address;
	char path[PATH_MAX];
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct path_search *s = ctx;
	struct proc_map m;

	if (proc_map_parse(line, len, &m) < 0 || s->address < m.start || s->address >= m.end)
		return 0;
	if (m.path_len > 0 && m.path[0] == '/' && m.path_len < sizeof(s->path))
		snprintf(s->path, sizeof(s->path), "%.*s", (int)m.path_len, m.path);
	return 1;
}

/* The path of the file that the process has mapped there; "": none. */
static int find_path(const struct loaded_pdbs *p, struct path_search *s)
{
	AUTO_CLOSE int root = open(p->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = root < 0 ? -errno : procfs_open_process(root, p->process->pid);
	struct proc_stat st;
	int r = fd < 0 ? fd : procfs_read_stat(fd, &st);

	if (r == 0 && (st.start_time != p->process->start_time || st.ended))
		r = -ESRCH;
	if (r == 0)
		r = procfs_each_map(fd, MAPS_MAX_BYTES, on_line, s);
	return r < 0 ? r : 0;
}

static int open_file(struct loaded_pdbs *p, const struct loaded_assembly *l, struct pdb_file *ret)
{
	struct path_search search = {.address = l->base, .path = ""};
	struct pdb_query q = {
		.proc_root = p->proc_root,
		.pid = p->process->pid,
		.start_time = p->process->start_time,
		.pe = l->pe,
		.image = l->image,
		.debug = l->debug,
		.max_bytes = LOADED_PDBS_BYTES,
	};
	int r = 0;

	if (l->debug->embedded.rva == 0)
		r = find_path(p, &search);
	q.path = search.path[0] ? search.path : p->process->exe;
	return r < 0 ? r : pdb_file_open(ret, p->caller, &q);
}

/* Whether the error says something about the assembly, and is the same at the next try. */
static bool is_of_content(int error)
{
	return error == -ENOENT || error == -ESTALE || error == -EBADMSG || error == -EFBIG;
}

static enum pdb_result result_of(int error)
{
	switch (error) {
	case 0:
		return PDB_READ;
	case -ENOENT:
		return PDB_NONE;
	case -ESTALE:
		return PDB_OTHER_BUILD;
	case -EBADMSG:
		return PDB_DAMAGED;
	case -EFBIG:
		return PDB_TOO_LARGE;
	default:
		return PDB_UNREADABLE;
	}
}

/* Takes ownership of the file, also if there is no room for it. */
static int keep(struct loaded_pdbs *p, struct assembly *a, struct pdb_file *file)
{
	struct opened *o = make_room(p, file->n_bytes);

	if (!o) {
		pdb_file_fini(file);
		return -ENFILE;
	}
	*o = (struct opened){a, *file};
	a->opened = o;
	return 0;
}

static void add(struct loaded_pdbs *p, struct assembly *a, const struct loaded_assembly *l)
{
	struct pdb_file file;

	forget(a);
	a->pid = p->process->pid;
	a->start_time = p->process->start_time;
	a->base = l->base;
	memcpy(a->id, l->debug->id, sizeof(a->id));
	a->error = open_file(p, l, &file);
	if (a->error == 0)
		a->error = keep(p, a, &file);
	if (a->error < 0)
		a->retry_ns =
			is_of_content(a->error) ? UINT64_MAX : clock_monotonic_ns() + RETRY_NS;
	if (p->counts)
		metric_add(&p->counts[result_of(a->error)], 1);
}

static int find(struct assembly_pdbs *ops, const struct loaded_assembly *l,
		struct assembly_pdb *ret)
{
	struct loaded_pdbs *p = (struct loaded_pdbs *)ops;
	struct assembly *a = find_known(p, l);

	if (!a || (a->error < 0 && clock_monotonic_ns() >= a->retry_ns)) {
		a = a ?: find_oldest(p);
		add(p, a, l);
	}
	a->used = ++p->clock;
	if (a->error == 0)
		*ret = (struct assembly_pdb){&a->opened->file.pdb, &a->opened->file.src};
	return a->error;
}

/* ---- create and destroy ---- */

int loaded_pdbs_new(struct loaded_pdbs **ret, const char *proc_root, struct deadline_caller *caller,
		    struct metric *counts)
{
	struct loaded_pdbs *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->ops.find = find;
	p->proc_root = proc_root;
	p->caller = caller;
	p->counts = counts;
	*ret = p;
	return 0;
}

void loaded_pdbs_free(struct loaded_pdbs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < LOADED_PDBS_MAX; i++)
		forget(&p->assemblies[i]);
	free(p);
}

struct assembly_pdbs *loaded_pdbs_of(struct loaded_pdbs *p, const struct process_snapshot *s)
{
	p->process = s;
	return &p->ops;
}
