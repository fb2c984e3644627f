#include "node-agent/symbol/image_pdbs.h"

#include <errno.h>

#include "node-agent/files/pdb_file.h"

struct opened {
	uint32_t number; /* 0: none */
	struct pdb_file file;
};

struct image_pdbs {
	const char *proc_root;
	struct deadline_caller *caller;
	struct opened opened[IMAGE_PDBS_MAX];
	unsigned next; /* to be replaced */
};

int image_pdbs_new(struct image_pdbs **ret, const char *proc_root, struct deadline_caller *caller)
{
	struct image_pdbs *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->proc_root = proc_root;
	p->caller = caller;
	*ret = p;
	return 0;
}

void image_pdbs_end_cycle(struct image_pdbs *p)
{
	for (size_t i = 0; i < IMAGE_PDBS_MAX; i++) {
		pdb_file_fini(&p->opened[i].file);
		p->opened[i].number = 0;
	}
}

void image_pdbs_free(struct image_pdbs *p)
{
	if (!p)
		return;
	image_pdbs_end_cycle(p);
	free(p);
}

static int open_pdb(const struct image_pdbs *p, const struct image_use *use, struct pdb_file *ret)
{
	struct pe_debug debug;
	const struct pdb_query q = {
		.proc_root = p->proc_root,
		.pid = use->pid,
		.start_time = use->start_time,
		.path = use->path,
		.pe = use->pe,
		.image = use->src,
		.debug = &debug,
		.max_bytes = IMAGE_PDB_BYTES,
	};
	int r = pe_debug_read(&debug, use->pe, use->src);

	return r < 0 ? r : pdb_file_open(ret, p->caller, &q);
}

static int get(struct image_pdbs *p, const struct image_use *use, const struct pdb_file **ret)
{
	struct pdb_file file;
	struct opened *o;
	int r;

	for (size_t i = 0; i < IMAGE_PDBS_MAX; i++) {
		if (p->opened[i].number == use->number) {
			*ret = &p->opened[i].file;
			return 0;
		}
	}
	r = open_pdb(p, use, &file);
	if (r < 0)
		return r;
	o = &p->opened[p->next++ % IMAGE_PDBS_MAX];
	pdb_file_fini(&o->file);
	*o = (struct opened){use->number, file};
	*ret = &o->file;
	return 0;
}

int image_pdbs_find(struct image_pdbs *p, const struct image_use *use, uint32_t method,
		    uint32_t il_offset, struct pdb_line *ret, bool *ret_absent)
{
	const struct pdb_file *f;
	int r = get(p, use, &f);

	*ret_absent = r == -ENOENT || r == -ESTALE || r == -EBADMSG || r == -EFBIG;
	return r < 0 ? r : portable_pdb_find(&f->pdb, &f->src, method, il_offset, ret);
}
