/*
 * Rules for the code of an assembly of .NET that was compiled ahead of time, x86-64. Pure.
 *
 * The image says of each function what its prologue does, step by step (UNWIND_INFO). What an
 * epilogue does is not said: it is found in the instructions, where it is exactly the reverse.
 *
 * Source: "x64 exception handling" of Microsoft's C++ documentation; src/coreclr/inc/win64unwind.h
 * and jit/unwindamd64.cpp of dotnet/runtime.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_DOTNET_H
#define NODE_AGENT_UNWIND_CFI_CFI_DOTNET_H

#include "node-agent/dotnet/pe_image.h"
#include "node-agent/unwind/cfi/cfi_rows.h"

/*
 * Reads the headers of an assembly, and makes a layout for its table: its executable sections, by
 * RVA. Returns 0; -ENOEXEC if that is no assembly, also if it is Windows' own code; or an error of
 * pe_image_parse().
 */
int cfi_dotnet_open(struct pe_image *ret, struct elf_layout *ret_layout,
		    const struct byte_source *src) MUST_CHECK;

/*
 * Adds the rows of all functions. table gets the counts. Code that no function has, and all of it
 * on other processors, has the rule "frame pointer", which all of .NET's code keeps. Returns 0, an
 * error of cfi_rows_add(), -ENOMEM, or why the file cannot be read.
 */
int cfi_dotnet_add(struct cfi_rows *rows, struct cfi_table *table, const struct pe_image *pe,
		   const struct byte_source *src) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_CFI_DOTNET_H */
