/*
 * A process of any release with the variables of test/lib/gc_image.h, with or without
 * symbols, and code that takes their addresses. For cmocka tests.
 */
#ifndef TEST_LIB_GC_PROCESS_H
#define TEST_LIB_GC_PROCESS_H

#include "node-agent/go/image/go_runtime.h"
#include "test/lib/elf_builder.h"
#include "test/lib/gc_image.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define GC_PROCESS_BIAS 0x40u
#define GC_PROCESS_MEMSTATS (GO_IMAGE_DATA + 0x10u)
#define GC_PROCESS_PACER (GO_IMAGE_DATA + 0x3000u)
#define GC_PROCESS_STKBUCKET 0x100u /* offsets of functions in the code */
#define GC_PROCESS_GC_START 0x180u
#define GC_PROCESS_LEA_BYTES 7u

static const char *const gc_process_names[] = {"runtime.a", "runtime.stkbucket", "runtime.gcStart"};

struct gc_process {
	struct elf_builder elf;
	struct byte_source file;
	struct elf_layout layout;
	struct go_image_builder image;
	struct gc_image gc;
	struct go_executable executable;
	struct go_runtime rt;
};

static inline void gc_process_put_symbol(struct gc_process *f, const char *name, uint64_t address)
{
	elf_builder_symbol(&f->elf, name, STB_LOCAL, STT_OBJECT, address - GC_PROCESS_BIAS, 8);
}

static inline void gc_process_put_variables(struct gc_process *f)
{
	const struct gc_layout *l = &f->gc.l;
	bool one = l->minor < 17;

	memcpy(f->image.data + GC_PROCESS_MEMSTATS, f->gc.memstats, l->memstats.n_bytes);
	if (!one) {
		memcpy(f->image.data + GC_PROCESS_PACER, f->gc.pacer, l->pacer.n_bytes);
		return;
	}
	/* parts of one variable */
	for (size_t i = 0; i < l->pacer.n_bytes; i++)
		f->image.data[GC_PROCESS_MEMSTATS + i] |= f->gc.pacer[i];
}

static inline void gc_process_begin(struct gc_process *f, unsigned minor, bool symbols)
{
	Elf64_Shdr *text;

	memset(f, 0, sizeof(*f));
	go_image_build(&f->image, minor, gc_process_names);
	elf_builder_init(&f->elf, EM_X86_64);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT - GC_PROCESS_BIAS, NULL, GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset,
			    GO_IMAGE_TEXT - GC_PROCESS_BIAS, GO_IMAGE_TEXT_BYTES);
	if (symbols) {
		gc_process_put_symbol(f, "runtime.memstats", GC_PROCESS_MEMSTATS);
		gc_process_put_symbol(f, "runtime.gcController", GC_PROCESS_PACER);
		elf_builder_symbol_table(&f->elf, SHT_SYMTAB);
	}
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->file, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->file), 0);
	f->rt.image =
		(struct go_image){&f->layout, &f->file, &f->image.memory, GC_PROCESS_BIAS, minor};
	f->rt.executable = &f->executable;
	f->rt.n_modules = 1;
	assert_int_equal(
		go_module_parse(&f->rt.modules[0], &f->image.memory, NULL, GO_IMAGE_MODULE, minor),
		0);
	/* large enough for these */
	f->rt.modules[0].data[0].end = GO_IMAGE_DATA + 0x4000;
	gc_image_make(&f->gc, minor);
	gc_process_put_variables(f);
}

/* lea off(%rip),%rax: the n-th of a function takes an address. */
static inline void gc_process_put_lea(struct gc_process *f, uint64_t function, uint64_t n,
				      uint64_t target)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05};
	uint64_t at = GO_IMAGE_TEXT + function + n * GC_PROCESS_LEA_BYTES;

	memcpy(f->image.data + at, lea, sizeof(lea));
	go_image_put(&f->image, at + 3, target - (at + GC_PROCESS_LEA_BYTES), 4);
}

static inline void gc_process_put_code(struct gc_process *f)
{
	gc_process_put_lea(f, GC_PROCESS_STKBUCKET, 1,
			   GC_PROCESS_MEMSTATS + f->gc.l.memstats.buckhash_sys);
	gc_process_put_lea(f, GC_PROCESS_GC_START, 2, GC_PROCESS_PACER);
}

#endif /* TEST_LIB_GC_PROCESS_H */
