/*
 * What is found of an address must not depend on which addresses were asked for before: else one
 * function would have two names. So pieces begin at fixed addresses, and are looked at together
 * with a little of the code around them. A function that begins in a piece before is found there.
 *
 * Of a browser's 200 MiB, samples fall into a few hundred places within minutes. A limit per cycle
 * keeps the thread from being busy with them alone; an address that had to wait is shown as such.
 */
#include "node-agent/symbol/unnamed_functions.h"

#include <errno.h>

#include "common/elf/code_starts.h"

/* Of the code before and behind a piece. */
#define MARGIN_BYTES UINT64_C(4096)
/* In so many pieces before, a start is looked for. */
#define BEFORE_PIECES 2u

struct piece {
	uint64_t index; /* address / UNNAMED_FUNCTIONS_PIECE_BYTES */
	uint32_t file;  /* 0: unused */
	uint32_t turn;  /* when it was used last */
	struct code_starts starts;
	uint64_t address; /* of the offset 0 of starts */
};

struct unnamed_functions {
	struct piece pieces[UNNAMED_FUNCTIONS_PIECES];
	uint32_t turn;
	uint32_t left; /* pieces of this cycle */
};

int unnamed_functions_new(struct unnamed_functions **ret)
{
	struct unnamed_functions *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->left = UNNAMED_FUNCTIONS_CYCLE_PIECES;
	*ret = u;
	return 0;
}

void unnamed_functions_free(struct unnamed_functions *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(u->pieces); i++)
		code_starts_fini(&u->pieces[i].starts);
	free(u);
}

/* The section that has the address, or, in a file without sections, the segment. */
static int find_bounds(const struct elf_layout *l, uint64_t vaddr, struct elf_section *ret)
{
	for (uint32_t i = 0; i < l->n_texts; i++) {
		if (vaddr - l->texts[i].vaddr >= l->texts[i].size_bytes)
			continue;
		*ret = l->texts[i];
		return 0;
	}
	for (uint32_t i = 0; i < l->n_segments && l->n_texts == 0; i++) {
		const struct elf_segment *s = &l->segments[i];

		if (!s->executable || vaddr - s->vaddr >= s->file_bytes)
			continue;
		*ret = (struct elf_section){
			.vaddr = s->vaddr, .offset = s->offset, .size_bytes = s->file_bytes};
		return 0;
	}
	return -ENOENT;
}

/* Looks at the code of a piece. */
static int fill(struct piece *p, const struct unnamed_file *f, const struct elf_section *bounds)
{
	uint64_t start = p->index * UNNAMED_FUNCTIONS_PIECE_BYTES;
	uint64_t end = start + UNNAMED_FUNCTIONS_PIECE_BYTES + MARGIN_BYTES;
	AUTO_FREE uint8_t *code = NULL;
	struct code_starts found = {0};
	size_t len;
	int r;

	start = start - bounds->vaddr < bounds->size_bytes && start - bounds->vaddr > MARGIN_BYTES
			? start - MARGIN_BYTES
			: bounds->vaddr;
	if (end > bounds->vaddr + bounds->size_bytes)
		end = bounds->vaddr + bounds->size_bytes;
	/* sections of a damaged file may be anywhere */
	if (end - start > UNNAMED_FUNCTIONS_PIECE_BYTES + 2 * MARGIN_BYTES)
		return -EBADMSG;
	len = (size_t)(end - start);
	code = malloc(len);
	if (!code)
		return -ENOMEM;
	r = byte_source_read(f->src, bounds->offset + (start - bounds->vaddr), code, len);
	if (r == 0)
		r = code_starts_find(&found, code, len, start, f->layout->machine);
	p->starts = found;
	p->address = start;
	return r;
}

static int get_piece(struct unnamed_functions *u, const struct unnamed_file *f, uint64_t index,
		     const struct elf_section *bounds, struct piece **ret)
{
	struct piece *oldest = &u->pieces[0];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(u->pieces); i++) {
		struct piece *p = &u->pieces[i];

		if (p->file == f->number && p->index == index) {
			p->turn = ++u->turn;
			*ret = p;
			return 0;
		}
		if (p->turn < oldest->turn)
			oldest = p;
	}
	if (u->left == 0)
		return -EAGAIN;
	u->left--;
	code_starts_fini(&oldest->starts);
	*oldest = (struct piece){.index = index};
	r = fill(oldest, f, bounds);
	if (r < 0)
		return r;
	oldest->file = f->number;
	oldest->turn = ++u->turn;
	*ret = oldest;
	return 0;
}

int unnamed_functions_find(struct unnamed_functions *u, const struct unnamed_file *f,
			   uint64_t vaddr, uint64_t floor, uint64_t *ret_start)
{
	uint64_t index = vaddr / UNNAMED_FUNCTIONS_PIECE_BYTES;
	struct elf_section bounds;
	int r = find_bounds(f->layout, vaddr, &bounds);

	for (unsigned i = 0; r == 0 && i <= BEFORE_PIECES; i++) {
		uint64_t first = index * UNNAMED_FUNCTIONS_PIECE_BYTES;
		uint64_t last = i == 0 ? vaddr : first + UNNAMED_FUNCTIONS_PIECE_BYTES - 1;
		struct piece *p;
		uint32_t at;

		r = get_piece(u, f, index, &bounds, &p);
		if (r == 0 &&
		    code_starts_before(&p->starts, (uint32_t)(last - p->address), &at) == 0 &&
		    p->address + at >= first) {
			*ret_start = p->address + at;
			return *ret_start >= floor ? 0 : -ENOENT;
		}
		if (r == 0 && (first <= floor || first <= bounds.vaddr))
			break;
		index--;
	}
	return r < 0 ? r : -ENOENT;
}

void unnamed_functions_end_cycle(struct unnamed_functions *u)
{
	u->left = UNNAMED_FUNCTIONS_CYCLE_PIECES;
}
