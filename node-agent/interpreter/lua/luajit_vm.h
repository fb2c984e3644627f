/*
 * Where LuaJIT's loop is in a file, and what its instructions say about the layout of its data.
 * x86-64. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUAJIT_VM_H
#define NODE_AGENT_INTERPRETER_LUA_LUAJIT_VM_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"

/*
 * Returns 0; -ENOTSUP if there is no such loop, or one of another layout; -ENOMEM; or an error of
 * byte_source_read().
 */
int luajit_vm_find(const struct elf_layout *layout, const struct byte_source *src,
		   struct interpreter_range *ret_loop, struct chain_slots *ret_slots) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUAJIT_VM_H */
