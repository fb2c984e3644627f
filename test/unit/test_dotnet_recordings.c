/*
 * Frames of real processes of .NET: each has the name that the runtime has for it. Recorded by
 * check_dotnet_frames (test/dotnet); only the memory that was read then is there. The file of the
 * runtime is made: it has the symbols and the release that count.
 */
#include <dirent.h>
#include <errno.h>

#include "node-agent/interpreter/dotnet/dotnet_interpreter.h"
#include "test/lib/dotnet_recording.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define PIECES_MAX 4096u

struct piece {
	uint64_t at;
	uint8_t *bytes;
	size_t n;
};

static struct recorded {
	struct interpreter_image image;
	uint64_t bias;
	struct piece pieces[PIECES_MAX];
	unsigned n_pieces;
	unsigned n_frames;
	bool is_complete;
} recorded;

static struct made_file {
	const char *release;            /* NULL: it says none */
	uint64_t variables, descriptor; /* addresses; 0: it does not export that */
	uint16_t machine;
} made;

static int read_recorded(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct recorded *r = ctx;

	for (unsigned i = r->n_pieces; i-- > 0;) {
		const struct piece *p = &r->pieces[i];

		if (at >= p->at && at - p->at <= p->n && n <= p->n - (at - p->at)) {
			memcpy(to, p->bytes + (at - p->at), n);
			return 0;
		}
	}
	return -EFAULT;
}

static const struct interpreter_memory memory = {read_recorded, &recorded};

/* ---- the file ---- */

static int recognise(void)
{
	static struct elf_builder elf;
	static struct elf_layout layout;
	struct byte_source src;
	char text[128];
	Elf64_Shdr *data;
	uint64_t at;

	elf_builder_init(&elf, made.machine);
	(void)snprintf(text, sizeof(text), "@(#)Version %s.124.61010 @Commit: 0",
		       made.release ?: "x");
	data = elf_builder_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, text,
				   strlen(text) + 1);
	at = data->sh_addr = data->sh_offset;
	elf_builder_symbol(&elf, "other", STB_GLOBAL, STT_OBJECT, data->sh_addr, 8);
	if (made.variables)
		elf_builder_symbol(&elf, "g_dacTable", STB_GLOBAL, STT_OBJECT, made.variables, 8);
	if (made.descriptor)
		elf_builder_symbol(&elf, "DotNetRuntimeContractDescriptor", STB_GLOBAL, STT_OBJECT,
				   made.descriptor, 40);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_W, at, at, strlen(text) + 1);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return dotnet_interpreter_ops.recognise(&layout, &src, &recorded.image);
}

TEST(a_release_is_known_by_what_its_file_says)
{
	made = (struct made_file){"9.0", 0x7000, 0x7100, EM_X86_64};
	assert_int_equal(recognise(), 0);
	assert_int_equal(recorded.image.language, INTERPRETER_DOTNET);
	assert_int_equal(recorded.image.flags, CHAIN_ANONYMOUS_IS_LOOP | CHAIN_BY_ADDRESS);
	assert_int_equal(recorded.image.dotnet.variables, 0x7000);
	assert_int_equal(recorded.image.dotnet.descriptor, 0x7100);
	made.descriptor = 0; /* a program that is one file */
	assert_int_equal(recognise(), 0);
	made.machine = EM_AARCH64;
	assert_int_equal(recognise(), -ENOTSUP);
	made.release = "10.0";
	assert_int_equal(recognise(), -ENOTSUP);
	made.descriptor = 0x7100; /* which says all, for any machine */
	assert_int_equal(recognise(), 0);
	made.release = "11.0";
	assert_int_equal(recognise(), 0);
	made.release = "8.0";
	assert_int_equal(recognise(), -ENOTSUP);
	made.machine = EM_X86_64;
	made.descriptor = 0; /* there is none */
	assert_int_equal(recognise(), 0);
	made.release = "7.0";
	assert_int_equal(recognise(), -ENOTSUP);
	made.descriptor = 0x7100;
	assert_int_equal(recognise(), -ENOTSUP);
	made.release = NULL;
	assert_int_equal(recognise(), -ENOTSUP);
	made.variables = 0;
	assert_int_equal(recognise(), -ENOENT);
}

/* ---- recordings ---- */

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10) & 15;
}

/* "ADDRESS BYTES" */
static void read_memory(struct recorded *r, const char *line)
{
	struct piece *p = &r->pieces[r->n_pieces++];
	char *hex;

	assert_true(r->n_pieces <= PIECES_MAX);
	p->at = strtoull(line, &hex, 16);
	hex++;
	p->n = strcspn(hex, "\n") / 2;
	p->bytes = malloc(p->n + 1);
	assert_non_null(p->bytes);
	for (size_t i = 0; i < p->n; i++)
		p->bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
}

/* "RELEASE VARIABLES DESCRIPTOR" */
static void read_file(const char *line)
{
	static char release[8];
	unsigned long long variables, descriptor;

	assert_int_equal(sscanf(line, "%7s %llx %llx", release, &variables, &descriptor), 3);
	made = (struct made_file){release, variables, descriptor, EM_X86_64};
	assert_int_equal(recognise(), 0);
}

/* "CODE CHECK AT FUNCTION|FILE" */
static void check_frame(struct recorded *r, const char *line)
{
	struct interpreter_frame f = {0};
	struct interpreter_name name;
	char text[2048], *rest;

	if (!r->is_complete)
		assert_int_equal(dotnet_interpreter_ops.complete(&r->image, r->bias, &memory), 0);
	r->is_complete = true;
	f.code = strtoull(line, &rest, 16);
	f.check = (uint32_t)strtoul(rest, &rest, 16);
	f.at = strtoull(rest, &rest, 16);
	assert_int_equal(dotnet_interpreter_ops.name_frame(&r->image, r->bias, &memory, &f, &name),
			 0);
	(void)snprintf(text, sizeof(text), " %s|%s\n", name.function, name.file);
	assert_string_equal(text, rest);
	r->n_frames++;
	f.check ^= 2; /* other code is there now */
	if (f.check != 2)
		assert_int_equal(
			dotnet_interpreter_ops.name_frame(&r->image, r->bias, &memory, &f, &name),
			-ESTALE);
}

static void check_recording(const char *name)
{
	AUTO_FREE char *line = NULL;
	struct recorded *r = &recorded;
	char path[256];
	size_t cap = 0;
	FILE *f;

	*r = (struct recorded){0};
	(void)snprintf(path, sizeof(path), DOTNET_RECORDING_FOLDER "/%s", name);
	f = fopen(path, "re");
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		if (strncmp(line, "file ", 5) == 0)
			read_file(line + 5);
		else if (strncmp(line, "bias ", 5) == 0)
			r->bias = strtoull(line + 5, NULL, 16);
		else if (strncmp(line, "memory ", 7) == 0)
			read_memory(r, line + 7);
		else if (strncmp(line, "frame ", 6) == 0)
			check_frame(r, line + 6);
	}
	fclose(f);
	for (unsigned i = 0; i < r->n_pieces; i++)
		free(r->pieces[i].bytes);
	assert_true(r->n_frames > 10);
}

TEST(frames_of_real_processes_have_their_names)
{
	DIR *d = opendir(DOTNET_RECORDING_FOLDER);
	unsigned n = 0;
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		check_recording(e->d_name);
		n++;
	}
	closedir(d);
	assert_true(n >= 4);
}
