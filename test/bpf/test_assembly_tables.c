/*
 * The slots of tables for Go's assembly, in real maps, for more programs than there are slots. The
 * programs and their processes are made up. Needs root, for the maps.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/go_assembly.h"
#include "node-agent/unwind/assembly_tables.h"
#include "test/lib/elf_builder.h"
#include "test/lib/fake_proc.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define START_TIME 1000
#define CODE_AT 0x10000000u
#define CODE_BYTES 0x10000u
#define FIRST_PID 100u
#define FIRST_INO 5000u
#define ASSEMBLY 4u
#define SIZES_AT 16u /* in a record of Go 1.20 and later */
#define FLAGS_AT 41u
#define SIZES (GO_IMAGE_VALUES + 0x100u)

struct fixture {
	struct fake_proc proc;
	int program_fd; /* the content of all programs */
	size_t program_bytes;
	int processes_fd, tables_fd;
	struct assembly_tables *tables;
};

static void make_program(struct fixture *f)
{
	static const char *const names[] = {"main.a", "main.b", "main.c"};
	static const int leaf[][2] = {{0, 0x80}};
	size_t record = GO_IMAGE_RECORDS + GO_IMAGE_RECORD_BYTES; /* of the second function */
	static struct go_image_builder image;
	static struct elf_builder elf;
	Elf64_Shdr *text;

	go_image_build(&image, 24, names);
	go_image_put_table(&image, record + FLAGS_AT, ASSEMBLY, 1);
	go_image_put_table(&image, record + SIZES_AT, SIZES - GO_IMAGE_VALUES, 4);
	go_image_put_values(&image, SIZES, leaf, 1);
	elf_builder_init(&elf, EM_X86_64);
	text = elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT, image.data + GO_IMAGE_TEXT, GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT,
			    GO_IMAGE_TEXT_BYTES);
	elf_builder_section(&elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, GO_IMAGE_TABLE,
			    image.data + GO_IMAGE_TABLE, GO_IMAGE_TABLE_BYTES);
	elf_builder_finish(&elf);
	f->program_fd = memfd_create("program", MFD_CLOEXEC);
	assert_true(f->program_fd >= 0);
	assert_int_equal(write(f->program_fd, elf.data, elf.len), elf.len);
	f->program_bytes = elf.len;
}

static void begin(struct fixture *f)
{
	struct assembly_tables_config cfg;

	*f = (struct fixture){0};
	make_program(f);
	fake_proc_begin(&f->proc);
	f->processes_fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "go_processes", sizeof(uint32_t),
			       sizeof(struct go_frame_process), GO_ASSEMBLY_PROCESSES, NULL);
	f->tables_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "go_tables", sizeof(uint32_t),
				      sizeof(struct go_frame_table), GO_ASSEMBLY_TABLES, NULL);
	assert_true(f->processes_fd >= 0 && f->tables_fd >= 0);
	cfg = (struct assembly_tables_config){
		.processes_fd = f->processes_fd,
		.tables_fd = f->tables_fd,
		.proc_root = f->proc.root,
	};
	assert_int_equal(assembly_tables_new(&f->tables, &cfg), 0);
}

static void end(struct fixture *f)
{
	assembly_tables_free(f->tables);
	fake_proc_end(&f->proc);
	close(f->processes_fd);
	close(f->tables_fd);
	close(f->program_fd);
}

static void start(struct fixture *f, unsigned pid, unsigned program)
{
	char name[32], maps[128];

	fake_proc_start(&f->proc, pid, START_TIME, "program");
	(void)snprintf(name, sizeof(name), "%u/maps", pid);
	(void)snprintf(maps, sizeof(maps), "%x-%x r-xp 00000000 08:01 %u /program\n", CODE_AT,
		       CODE_AT + CODE_BYTES, FIRST_INO + program);
	fake_proc_put_file(&f->proc, name, maps);
}

/* Reports this process. */
static void report(struct fixture *f, unsigned pid, unsigned program)
{
	const struct file_id id = {
		.dev = 1, .ino = FIRST_INO + program, .size_bytes = f->program_bytes};
	struct process_listener *l = assembly_tables_listener(f->tables);
	struct process_snapshot *s = calloc(1, sizeof(*s));
	int fd = fcntl(f->program_fd, F_DUPFD_CLOEXEC, 0);

	assert_true(s && fd >= 0);
	s->refs = 1;
	s->pid = (pid_t)pid;
	s->start_time = START_TIME;
	s->n_mappings = 1;
	s->mappings = calloc(1, sizeof(*s->mappings));
	assert_non_null(s->mappings);
	s->mappings->start = CODE_AT;
	s->mappings->end = CODE_AT + CODE_BYTES;
	assert_int_equal(mapped_file_new(&s->mappings->file, &id, fd, "/program", 8), 0);
	l->on_snapshot(l->ctx, s);
	process_snapshot_unref(s);
}

/* Returns the slot of a process, or -1. */
static int slot_of(const struct fixture *f, unsigned pid)
{
	struct go_frame_process p;
	uint32_t key = pid;

	return bpf_map_lookup_elem(f->processes_fd, &key, &p) == 0 ? (int)p.table : -1;
}

static int wait_for(const struct fixture *f, unsigned pid)
{
	for (int i = 0; i < 6000 && slot_of(f, pid) < 0; i++)
		(void)poll(NULL, 0, 10);
	assert_true(slot_of(f, pid) >= 0);
	return slot_of(f, pid);
}

static void a_program_with_processes_keeps_its_table(void **state)
{
	const unsigned last = FIRST_PID + GO_ASSEMBLY_TABLES, other = last + 1, gone = 10;
	uint32_t gone_pid = FIRST_PID + gone;
	int slots[GO_ASSEMBLY_TABLES];
	struct fixture f;

	(void)state;
	begin(&f);
	for (unsigned i = 0; i < GO_ASSEMBLY_TABLES; i++) {
		start(&f, FIRST_PID + i, i);
		report(&f, FIRST_PID + i, i);
		slots[i] = wait_for(&f, FIRST_PID + i);
	}
	start(&f, last, GO_ASSEMBLY_TABLES);
	report(&f, last, GO_ASSEMBLY_TABLES);
	/* jobs are done in order: the other one is done when this one is */
	start(&f, other, 0);
	report(&f, other, 0);
	assert_int_equal(wait_for(&f, other), slots[0]);
	assert_int_equal(slot_of(&f, last), -1);
	for (unsigned i = 0; i < GO_ASSEMBLY_TABLES; i++)
		assert_int_equal(slot_of(&f, FIRST_PID + i), slots[i]);

	/* BPF removes a process that exits */
	assert_int_equal(bpf_map_delete_elem(f.processes_fd, &gone_pid), 0);
	report(&f, last, GO_ASSEMBLY_TABLES);
	assert_int_equal(wait_for(&f, last), slots[gone]);
	for (unsigned i = 0; i < GO_ASSEMBLY_TABLES; i++)
		assert_int_equal(slot_of(&f, FIRST_PID + i), i == gone ? -1 : slots[i]);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_with_processes_keeps_its_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
