/*
 * Facts are those of DWARF 5, section 6.4.1, and of LSB Core, "Exception Frames". The two sections
 * differ in how an FDE refers to its CIE (by the distance back to it, or by its position), in what
 * marks a CIE (0, or all bits set), and in the encoding of addresses (as the CIE says, or plain).
 *
 * A file has few CIEs, so that each is read once in practice.
 */
#include "node-agent/unwind/cfi/cfi_entry.h"

#include <errno.h>

#include "node-agent/unwind/cfi/cfi_cursor.h"

/* Instead of a length: the length has 64 bits. */
#define LENGTH_IS_64_BITS UINT32_MAX
#define ADDRESS_BYTES 8

int cfi_entry_read(struct cfi_entry *ret, const struct cfi_section *s, uint64_t position)
{
	uint64_t left, length, id, id_position;
	struct cfi_cursor c;
	const uint8_t *p;
	size_t id_bytes = 4;
	int r;

	*ret = (struct cfi_entry){.position = position};
	if (position >= s->size_bytes)
		return -EBADMSG;
	left = s->size_bytes - position;
	if (left > FILE_WINDOWS_LENGTH_MAX)
		left = FILE_WINDOWS_LENGTH_MAX;
	r = file_windows_get(s->windows, s->offset + position, (size_t)left, &p);
	if (r < 0)
		return r;
	c = (struct cfi_cursor){.p = p, .end = p + left};
	length = cfi_cursor_fixed(&c, 4);
	if (length == LENGTH_IS_64_BITS) {
		length = cfi_cursor_fixed(&c, 8);
		id_bytes = s->is_debug_frame ? 8 : 4;
	}
	if (c.bad)
		return -EBADMSG;
	id_position = position + (uint64_t)(c.p - p);
	if (length > s->size_bytes - id_position)
		return -EBADMSG;
	ret->next = id_position + length;
	ret->is_terminator = length == 0;
	if (ret->is_terminator)
		return 0;
	if (length > cfi_cursor_left(&c) || length < id_bytes)
		return -EBADMSG;
	c.end = c.p + length;
	id = cfi_cursor_fixed(&c, id_bytes);
	if (s->is_debug_frame) {
		ret->is_cie = id == (id_bytes == 8 ? UINT64_MAX : UINT32_MAX);
		ret->cie_position = id;
	} else {
		ret->is_cie = id == 0;
		ret->cie_position = id_position - id;
	}
	ret->body = c.p;
	ret->len = cfi_cursor_left(&c);
	ret->body_vaddr = s->vaddr + position + (uint64_t)(c.p - p);
	return 0;
}

/* ---- CIEs ---- */

/* Reads the augmentation's data, as its letters say. */
static int parse_augmentation(struct cfi_cie *cie, const char *letters, struct cfi_cursor *c)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->coding.pointers = cfi_cursor_byte(c);
			break;
		case 'L':
			cfi_cursor_byte(c);
			break;
		case 'P': /* its own encoding, which also says how long it is */
			cfi_cursor_number(c, cfi_cursor_byte(c));
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
		case 'G': /* arm64: the stack is tagged */
			break;
		default:
			return -EBADMSG;
		}
	}
	return c->bad ? -EBADMSG : 0;
}

/*
 * On arm64, some functions of glibc are called with the return address in another register than
 * the link register.
 */
static bool set_return_address(struct cfi_registers *registers, uint64_t ra)
{
	if (ra != registers->ra && (registers->ra != CFI_ARM64_LR || ra >= CFI_ARM64_SP))
		return false;
	registers->ra = (uint8_t)ra;
	return true;
}

static int parse_cie(struct cfi_cie *cie, const struct cfi_section *s, const struct cfi_entry *e)
{
	struct cfi_cursor c = {.p = e->body, .end = e->body + e->len};
	uint8_t version = cfi_cursor_byte(&c);
	const char *letters = (const char *)c.p;
	size_t letters_len = strnlen(letters, cfi_cursor_left(&c));
	uint64_t ra, data_len;
	const uint8_t *data;
	int r = 0;

	*cie = (struct cfi_cie){.coding = {.registers = s->registers}};
	if (!cfi_cursor_take(&c, letters_len + 1))
		return -EBADMSG;
	if (version == 4 &&
	    (cfi_cursor_byte(&c) != ADDRESS_BYTES || cfi_cursor_byte(&c) != 0 /* segments */))
		return -EBADMSG;
	if (version != 1 && version != 3 && version != 4)
		return -EBADMSG;
	cie->coding.code_align = cfi_cursor_uleb(&c);
	cie->coding.data_align = cfi_cursor_sleb(&c);
	ra = version == 1 ? cfi_cursor_byte(&c) : cfi_cursor_uleb(&c);
	if (c.bad || !set_return_address(&cie->coding.registers, ra))
		return -EBADMSG;
	cie->has_data = letters[0] == 'z';
	if (cie->has_data) {
		data_len = cfi_cursor_uleb(&c);
		data = cfi_cursor_take(&c, data_len);
		if (!data)
			return -EBADMSG;
		r = parse_augmentation(cie, letters + 1,
				       &(struct cfi_cursor){.p = data, .end = data + data_len});
	} else if (letters[0] != '\0') {
		return -EBADMSG;
	}
	if (r == 0)
		r = cfi_program_begin(&cie->initial, &cie->coding, c.p, cfi_cursor_left(&c));
	return r;
}

static int read_cie(struct cfi_cie_cache *cache, struct cfi_cie *cie, const struct cfi_section *s,
		    uint64_t position)
{
	struct cfi_entry e;
	int r = cfi_entry_read(&e, s, position);

	if (r == 0 && (e.is_terminator || !e.is_cie))
		r = -EBADMSG;
	if (r < 0)
		return r;
	cache->read_bytes += e.len;
	return cache->read_bytes > CFI_CIE_READ_MAX_BYTES ? -EBADMSG : parse_cie(cie, s, &e);
}

/* Broken ones are kept, too, as many FDEs may refer to one. */
static int find_cie(const struct cfi_cie **ret, const struct cfi_section *s,
		    struct cfi_cie_cache *cache, uint64_t position)
{
	size_t i = (size_t)(position / 4 * UINT64_C(0x9e3779b97f4a7c15) >> 58) % CFI_CIE_CACHE;

	if (cache->slots[i].position != position + 1) {
		int r = read_cie(cache, &cache->slots[i].cie, s, position);

		if (r < 0 && r != -EBADMSG)
			return r;
		cache->slots[i].position = position + 1;
		cache->slots[i].result = r;
	}
	*ret = &cache->slots[i].cie;
	return cache->slots[i].result;
}

/* ---- FDEs ---- */

int cfi_entry_function(struct cfi_function *ret, const struct cfi_cie **ret_cie,
		       const struct cfi_section *s, struct cfi_cie_cache *cache, uint64_t position)
{
	struct cfi_entry e;
	struct cfi_cursor c;
	const struct cfi_cie *cie;
	uint64_t bytes;
	int r;

	r = cfi_entry_read(&e, s, position);
	if (r < 0)
		return r;
	if (e.is_terminator || e.is_cie)
		return -EBADMSG;
	r = find_cie(&cie, s, cache, e.cie_position);
	if (r < 0)
		return r;
	/* reading the CIE may have moved what is read of the file */
	r = cfi_entry_read(&e, s, position);
	if (r < 0)
		return r;
	c = (struct cfi_cursor){.p = e.body, .end = e.body + e.len};
	ret->start = cfi_cursor_pointer(&c, cie->coding.pointers, e.body_vaddr);
	bytes = cfi_cursor_number(&c, cie->coding.pointers);
	if (cie->has_data)
		cfi_cursor_take(&c, cfi_cursor_uleb(&c));
	if (c.bad || __builtin_add_overflow(ret->start, bytes, &ret->end))
		return -EBADMSG;
	ret->code = c.p;
	ret->len = cfi_cursor_left(&c);
	ret->code_vaddr = e.body_vaddr + (uint64_t)(c.p - e.body);
	*ret_cie = cie;
	return 0;
}
