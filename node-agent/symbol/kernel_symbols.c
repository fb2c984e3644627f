/*
 * Reading /proc/kallsyms is expensive, so it must not happen again and again because of an
 * address that never has a name. What changes the kernel's functions is loading modules, which
 * /proc/modules shows cheaply, and loading BPF programs, which nothing shows. Hence two
 * periods: a short one if the list of modules is different, a long one regardless.
 *
 * Whether addresses are shown is decided when the file is opened: by kernel.kptr_restrict, the
 * capability, and with 0 also by kernel.perf_event_paranoid. So what is missing is looked for only
 * once they are known to be hidden.
 */
#include "node-agent/symbol/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>

#include "common/data/hash.h"
#include "common/privilege/capabilities.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/symbol/kallsyms.h"
#include "node-agent/symbol/symbol_metrics.h"

#define READ_BYTES 65536u
#define RELOAD_AFTER_NS (60 * NS_PER_S)
#define RELOAD_BLINDLY_AFTER_NS (600 * NS_PER_S)

struct kernel_symbols {
	const char *proc_root; /* borrowed */
	struct kallsyms *table;
	enum kallsyms_outcome outcome;
	uint64_t tried_ns; /* when the last load began; 0: never */
	uint64_t modules;  /* hash of /proc/modules at that time */
	uint32_t generation;
	bool has_warned; /* that no function has a name */
};

int kernel_symbols_new(struct kernel_symbols **ret, const char *proc_root)
{
	struct kernel_symbols *ks = calloc(1, sizeof(*ks));

	if (!ks)
		return -ENOMEM;
	ks->proc_root = proc_root;
	*ret = ks;
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *ks)
{
	if (!ks)
		return;
	kallsyms_free(ks->table);
	free(ks);
}

/* Called with each piece of a file; a negative result ends the reading. */
typedef int piece_fn(void *ctx, const char *data, size_t len);

static int read_pieces(const char *proc_root, const char *name, piece_fn *fn, void *ctx)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *buf = NULL;
	char path[256];
	ssize_t n;
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", proc_root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buf = malloc(READ_BYTES);
	if (!buf)
		return -ENOMEM;
	while ((n = read(fd, buf, READ_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		r = fn(ctx, buf, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_text(void *ctx, const char *data, size_t len)
{
	return kallsyms_add(ctx, data, len);
}

static int load(struct kernel_symbols *ks)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = NULL;
	int r;

	r = kallsyms_new(&k);
	if (r == 0)
		r = read_pieces(ks->proc_root, "kallsyms", add_text, k);
	if (r == 0)
		r = kallsyms_finish(k);
	if (r < 0)
		return r;
	ks->outcome = (enum kallsyms_outcome)r;
	kallsyms_free(ks->table);
	ks->table = TAKE_PTR(k);
	ks->generation++;
	metric_add(&symbol_metrics[SYMBOL_METRIC_KERNEL_LOADS], 1);
	return 0;
}

static int first_byte(void *ctx, const char *data, size_t len)
{
	char *first = ctx;

	if (*first == '\0' && len > 0)
		*first = data[0];
	return 0;
}

/* In words for the operator. error: of the load, or 0 if all addresses were zero. */
static const char *hidden_reason(const struct kernel_symbols *ks, int error)
{
	char restriction = '\0';

	if (error < 0)
		return strerror(-error);
	(void)!read_pieces(ks->proc_root, "sys/kernel/kptr_restrict", first_byte, &restriction);
	if (restriction == '2')
		return "kernel.kptr_restrict is 2";
	return capabilities_held() & CAPABILITY(CAP_SYSLOG)
		       ? "the kernel hides them although the agent has CAP_SYSLOG"
		       : "the agent lacks CAP_SYSLOG";
}

static void warn_if_hidden(struct kernel_symbols *ks, int error)
{
	if (ks->has_warned || (ks->table && ks->outcome != KALLSYMS_HIDDEN))
		return;
	ks->has_warned = true;
	log_warn("functions of the kernel have no names in profiles: /proc/kallsyms shows no "
		 "addresses",
		 "reason=\"%s\"", hidden_reason(ks, error));
}

/*
 * "nf_tables 274432 1 - Live 0xffffffffc0d3b000": the use count and the users (columns 2 and
 * 3) change all the time; name, size and address identify the module.
 */
struct modules_hash {
	uint64_t hash;
	unsigned column;
};

static int hash_modules(void *ctx, const char *data, size_t len)
{
	struct modules_hash *m = ctx;

	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n')
			m->column = 0;
		else if (data[i] == ' ')
			m->column++;
		if (m->column != 2 && m->column != 3)
			m->hash = fnv1a64(m->hash, &data[i], 1);
	}
	return 0;
}

/* A kernel without modules has no such file; its hash is that of an empty one. */
static uint64_t modules_now(const struct kernel_symbols *ks)
{
	struct modules_hash m = {.hash = FNV1A64_INIT};

	(void)!read_pieces(ks->proc_root, "modules", hash_modules, &m);
	return m.hash;
}

static bool want_load(const struct kernel_symbols *ks, uint64_t now_ns, uint64_t modules)
{
	if (ks->tried_ns == 0 || now_ns - ks->tried_ns >= RELOAD_BLINDLY_AFTER_NS)
		return true;
	return now_ns - ks->tried_ns >= RELOAD_AFTER_NS && modules != ks->modules;
}

static const char *find(const struct kernel_symbols *ks, uint64_t address)
{
	return ks->table ? kallsyms_find(ks->table, address) : NULL;
}

enum kernel_symbols_outcome kernel_symbols_find(struct kernel_symbols *ks, uint64_t address,
						uint64_t now_ns, const char **ret_name)
{
	const char *name = find(ks, address);
	int r;

	if (!name && (ks->tried_ns == 0 || now_ns - ks->tried_ns >= RELOAD_AFTER_NS)) {
		uint64_t modules = modules_now(ks);

		if (want_load(ks, now_ns, modules)) {
			ks->tried_ns = now_ns;
			ks->modules = modules;
			/* if this fails, the old table stays */
			r = load(ks);
			if (r == 0)
				name = find(ks, address);
			warn_if_hidden(ks, r);
		}
	}
	if (name) {
		*ret_name = name;
		return KERNEL_SYMBOLS_FOUND;
	}
	return !ks->table || ks->outcome == KALLSYMS_HIDDEN ? KERNEL_SYMBOLS_HIDDEN
							    : KERNEL_SYMBOLS_UNKNOWN;
}

uint32_t kernel_symbols_generation(const struct kernel_symbols *ks)
{
	return ks->generation;
}

size_t kernel_symbols_bytes(const struct kernel_symbols *ks)
{
	return ks->table ? kallsyms_bytes(ks->table) : 0;
}
