#include "node-agent/interpreter/hotspot/hotspot_names.h"

#include <errno.h>
#include <linux/types.h>

#include "common/jfr/java_names.h"
#include "common/text/utf8.h"
#include "node-agent/interpreter/hotspot/hotspot_method.h"
#include "node-agent/interpreter/hotspot/hotspot_scopes.h"

#define BLOB_NAME_BYTES 64u

/* The method by which a virtual thread runs on top of the stack of another one. */
#define VIRTUAL_ENTRY "jdk.internal.vm.Continuation.enterSpecial"
#define VIRTUAL_ROOT "[virtual thread]"
#define VIRTUAL_REST "[virtual thread: frames in the heap]"
#define NO_FILE "[jvm]"

static void set_marker(struct interpreter_name *ret, const char *text)
{
	snprintf(ret->function, sizeof(ret->function), "%s", text);
	snprintf(ret->file, sizeof(ret->file), NO_FILE);
	ret->line = ret->start_line = 0;
	ret->is_root = true;
}

static int name_method(const struct hotspot_layout *l, const struct interpreter_memory *memory,
		       const struct hotspot_method *m, int64_t bytecode,
		       struct interpreter_name *ret)
{
	int r = hotspot_method_name(l, memory, m, ret);

	if (r < 0)
		return r;
	hotspot_method_line(l, memory, m, bytecode, ret);
	if (strcmp(ret->function, VIRTUAL_ENTRY) == 0)
		set_marker(ret, VIRTUAL_ROOT);
	return 0;
}

static int name_interpreted(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			    const struct interpreter_frame *f, struct interpreter_name *ret)
{
	struct hotspot_method m;
	int r = hotspot_method_read(l, memory, f->code, &m);

	if (r < 0 && f->at == CHAIN_JVM_INTERPRETED) /* see jvm_step_interpreted() */
		return -ENODATA;
	if (r < 0)
		return r;
	if (f->check != 0 && f->check != chain_check(m.constant))
		return -ESTALE;
	return name_method(
		l, memory, &m,
		(int64_t)((f->at & (CHAIN_JVM_INTERPRETED - 1)) - m.constant - l->const_bytes),
		ret);
}

static int name_compiled(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			 const struct interpreter_frame *f, struct interpreter_name *ret)
{
	UNINITIALIZED struct hotspot_scopes scopes;
	const struct hotspot_scope *scope;
	struct hotspot_method m;
	uint32_t id = 0;
	int r = interpreter_read(memory, f->code + l->walk.compile_id, &id, sizeof(id));

	if (r == 0 && f->check != 0 && f->check != chain_check(id))
		r = -ESTALE;
	if (r == 0)
		r = hotspot_scopes_read(l, memory, f->code, f->at, &scopes);
	if (r < 0)
		return r;
	if (f->level >= scopes.n)
		return -EBADMSG;
	scope = &scopes.scopes[f->level];
	r = hotspot_method_read(l, memory, scope->method, &m);
	if (r == 0)
		r = name_method(l, memory, &m, scope->bytecode, ret);
	ret->n_callers = (uint8_t)(scopes.n - 1 - f->level);
	return r;
}

static int read_blob_name(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			  uint64_t blob, char to[BLOB_NAME_BYTES])
{
	uint64_t name;
	int r = interpreter_read(memory, blob + l->walk.blob_name, &name, sizeof(name));

	if (r == 0)
		r = interpreter_read(memory, name, to, BLOB_NAME_BYTES);
	to[BLOB_NAME_BYTES - 1] = '\0';
	to[r < 0 ? 0 : utf8_make_printable(to, strlen(to))] = '\0';
	return r;
}

/* Of stubs, only that one is known by its address. */
static bool is_call_stub(const struct hotspot_layout *l, uint64_t bias,
			 const struct interpreter_memory *memory, uint64_t address)
{
	uint64_t known;

	return l->call_stub != 0 &&
	       interpreter_read(memory, l->call_stub + bias, &known, sizeof(known)) == 0 &&
	       known == address;
}

int hotspot_name_read(const struct hotspot_layout *l, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	UNINITIALIZED struct java_name name;
	char blob[BLOB_NAME_BYTES];
	int r;

	*ret = (struct interpreter_name){0};
	if (f->code == CHAIN_JVM_BARRIER) {
		set_marker(ret, VIRTUAL_REST);
		return 0;
	}
	if (f->at & CHAIN_JVM_INTERPRETED)
		return name_interpreted(l, memory, f, ret);
	r = read_blob_name(l, memory, f->code, blob);
	if (r < 0)
		return r;
	if (strcmp(blob, "nmethod") == 0 || strcmp(blob, "native nmethod") == 0)
		return name_compiled(l, memory, f, ret);
	if (blob[0] == '\0')
		return -EBADMSG;
	java_name_of_text(&name, blob, strlen(blob));
	snprintf(ret->function, sizeof(ret->function), "%.*s", (int)BLOB_NAME_BYTES,
		 is_call_stub(l, bias, memory, f->at) ? "call_stub" : name.text);
	snprintf(ret->file, sizeof(ret->file), NO_FILE);
	return 0;
}
