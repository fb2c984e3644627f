#include "node-agent/dotnet/pe_image.h"

#include <errno.h>

#define COFF_BYTES 24u /* with the signature before it */
#define OPTIONAL_MAX_BYTES 240u
#define OPTIONAL_MIN_BYTES 96u
#define SECTION_BYTES 40u
#define CLI_HEADER_BYTES 72u
#define HEADERS_MAX_BYTES 4096u
#define MAGIC_PE32 0x10bu
#define MAGIC_PE32_PLUS 0x20bu
#define DIRECTORY_EXPORTS 0u
#define DIRECTORY_EXCEPTIONS 3u
#define DIRECTORY_DEBUG 6u
#define DIRECTORY_CLI 14u
#define SECTION_EXECUTABLE UINT32_C(0x20000000)

/* Code that is compiled for a system has its machine XORed with one of these. */
static const uint16_t machine_systems[] = {
	0x7b79, /* Linux */
	0x4644, /* Apple's */
	0xadc4, /* FreeBSD */
	0x1993, /* NetBSD */
	0x1992, /* SunOS */
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static struct pe_range get_range(const uint8_t *p)
{
	return (struct pe_range){get32(p), get32(p + 4)};
}

static uint32_t plain_machine(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(machine_systems); i++) {
		uint16_t plain = machine ^ machine_systems[i];

		if (plain == PE_MACHINE_X86_64 || plain == PE_MACHINE_ARM64)
			return plain;
	}
	return machine;
}

static int parse_optional_header(struct pe_image *pe, const uint8_t *h, uint32_t n,
				 struct pe_range *ret_cli)
{
	bool plus = get16(h) == MAGIC_PE32_PLUS;
	uint32_t directories = plus ? 112 : 96;
	uint32_t n_directories;

	if (!plus && get16(h) != MAGIC_PE32)
		return -ENOEXEC;
	if (n < directories)
		return -EBADMSG;
	n_directories = get32(h + directories - 4);
	if (n_directories > (n - directories) / 8)
		n_directories = (n - directories) / 8;
	pe->image_base = plus ? get32(h + 24) | (uint64_t)get32(h + 28) << 32 : get32(h + 28);
	pe->image_bytes = get32(h + 56);
	if (n_directories > DIRECTORY_EXPORTS)
		pe->exports = get_range(h + directories);
	if (n_directories > DIRECTORY_EXCEPTIONS)
		pe->exceptions = get_range(h + directories + 8 * DIRECTORY_EXCEPTIONS);
	if (n_directories > DIRECTORY_DEBUG)
		pe->debug = get_range(h + directories + 8 * DIRECTORY_DEBUG);
	if (n_directories > DIRECTORY_CLI)
		*ret_cli = get_range(h + directories + 8 * DIRECTORY_CLI);
	return 0;
}

static int read_sections(struct pe_image *pe, const struct byte_source *src, uint64_t offset,
			 uint32_t n)
{
	uint8_t raw[PE_SECTIONS_MAX * SECTION_BYTES];
	int r;

	if (n > PE_SECTIONS_MAX)
		return -EBADMSG;
	r = byte_source_read(src, offset, raw, (size_t)n * SECTION_BYTES);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *s = raw + (size_t)i * SECTION_BYTES;

		pe->sections[i] = (struct pe_section){
			.virtual_bytes = get32(s + 8),
			.rva = get32(s + 12),
			.file_bytes = get32(s + 16),
			.file_offset = get32(s + 20),
			.executable = get32(s + 36) & SECTION_EXECUTABLE,
		};
	}
	pe->n_sections = n;
	return 0;
}

static int read_cli_header(struct pe_image *pe, const struct byte_source *src,
			   const struct pe_range *cli)
{
	uint8_t h[CLI_HEADER_BYTES];
	int r;

	if (cli->size_bytes < CLI_HEADER_BYTES)
		return -EBADMSG;
	r = pe_image_read(pe, src, cli->rva, h, sizeof(h));
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	pe->metadata = get_range(h + 8);
	pe->entry_token = get32(h + 20);
	pe->native_header = get_range(h + 64);
	return 0;
}

int pe_image_parse(struct pe_image *ret, const struct byte_source *src, enum pe_layout layout)
{
	struct pe_image pe = {.layout = layout};
	struct pe_range cli = {0, 0};
	uint8_t head[PE_HEAD_BYTES], coff[COFF_BYTES], optional[OPTIONAL_MAX_BYTES];
	uint32_t at, n;
	int r = byte_source_read(src, 0, head, sizeof(head));

	if (r < 0)
		return r == -ENODATA ? -ENOEXEC : r;
	at = get32(head + 60);
	if (head[0] != 'M' || head[1] != 'Z' || at > HEADERS_MAX_BYTES)
		return -ENOEXEC;
	r = byte_source_read(src, at, coff, sizeof(coff));
	if (r < 0)
		return r == -ENODATA ? -ENOEXEC : r;
	if (memcmp(coff, "PE\0\0", 4) != 0)
		return -ENOEXEC;
	pe.machine = plain_machine(get16(coff + 4));
	n = get16(coff + 20);
	if (n < OPTIONAL_MIN_BYTES)
		return -EBADMSG;
	memset(optional, 0, sizeof(optional));
	r = byte_source_read(src, at + COFF_BYTES, optional,
			     n < sizeof(optional) ? n : sizeof(optional));
	if (r == 0)
		r = parse_optional_header(&pe, optional,
					  n < sizeof(optional) ? n : OPTIONAL_MAX_BYTES, &cli);
	if (r == 0)
		r = read_sections(&pe, src, at + COFF_BYTES + n, get16(coff + 6));
	if (r == 0 && cli.rva > 0)
		r = read_cli_header(&pe, src, &cli);
	else if (r == 0 && pe.exports.rva == 0)
		r = -ENOENT;
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	*ret = pe;
	return 0;
}

int pe_image_offset(const struct pe_image *pe, uint32_t rva, uint32_t n, uint64_t *ret)
{
	if (n == 0)
		return -ENODATA;
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		const struct pe_section *s = &pe->sections[i];
		uint32_t size = s->file_bytes;

		/* in memory, what the file does not have is zero */
		if (pe->layout == PE_LAYOUT_MAPPED && s->virtual_bytes > size)
			size = s->virtual_bytes;
		if (rva < s->rva || rva - s->rva >= size)
			continue;
		if (n > size - (rva - s->rva))
			return -ENODATA;
		*ret = pe->layout == PE_LAYOUT_MAPPED ? rva
						      : (uint64_t)s->file_offset + (rva - s->rva);
		return 0;
	}
	return -ENODATA;
}

int pe_image_rva(const struct pe_image *pe, uint64_t file_offset, uint32_t *ret)
{
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		const struct pe_section *s = &pe->sections[i];

		if (file_offset >= s->file_offset && file_offset - s->file_offset < s->file_bytes &&
		    file_offset - s->file_offset <= UINT32_MAX - s->rva) {
			*ret = s->rva + (uint32_t)(file_offset - s->file_offset);
			return 0;
		}
	}
	return -ENOENT;
}

int pe_image_read(const struct pe_image *pe, const struct byte_source *src, uint32_t rva, void *to,
		  uint32_t n)
{
	uint64_t offset;
	int r = pe_image_offset(pe, rva, n, &offset);

	return r < 0 ? r : byte_source_read(src, offset, to, n);
}
