/*
 * Where .NET's runtime (CoreCLR) keeps what the names of its methods are read from. The runtime
 * describes a part of it itself (dotnet/dotnet_descriptor.h); the rest is known per release.
 */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_LAYOUT_H
#define NODE_AGENT_INTERPRETER_DOTNET_LAYOUT_H

#include "common/base.h"

/* Fields, by their offset in bytes from the start of the structure. */
enum dotnet_field {
	/* a piece of a code range: the map from addresses to ranges has lists of these */
	DOTNET_FRAGMENT_NEXT,
	DOTNET_FRAGMENT_BEGIN,
	DOTNET_FRAGMENT_END,
	DOTNET_FRAGMENT_SECTION,
	/* RangeSection */
	DOTNET_SECTION_FLAGS, /* 32 bits */
	DOTNET_SECTION_HEAP,
	/* HeapList: a heap of code */
	DOTNET_HEAP_BASE, /* what the map of its methods counts from */
	DOTNET_HEAP_MAP,
	/* RealCodeHeader: what the word in front of a method's code leads to */
	DOTNET_CODE_METHOD,
	DOTNET_CODE_N_FUNCTIONS, /* 32 bits: how many functions the method has: itself, handlers */
	DOTNET_CODE_FUNCTIONS,   /* RUNTIME_FUNCTION each */
	DOTNET_CODE_DEBUG,       /* what debuggers read */
	/* MethodDesc */
	DOTNET_METHOD_TOKEN, /* 16 bits: the lower ones are those of its token */
	DOTNET_METHOD_INDEX, /* 8 bits: where it is in its chunk, in units of 8 bytes */
	DOTNET_METHOD_FLAGS, /* 16 bits */
	DOTNET_METHOD_NAME,  /* of a method without a token */
	/* MethodDescChunk */
	DOTNET_CHUNK_TABLE,
	DOTNET_CHUNK_TOKEN, /* 16 bits: the upper ones of the token */
	DOTNET_CHUNK_BYTES, /* not a field: its size */
	/* MethodTable: a type */
	DOTNET_TABLE_MODULE,
	DOTNET_TABLE_CLASS,
	DOTNET_CLASS_TABLE, /* in EEClass */
	/* Module */
	DOTNET_MODULE_BASE, /* where its assembly is in memory, or what leads there */
	DOTNET_FIELDS,
};

#define DOTNET_UNKNOWN UINT16_MAX
#define DOTNET_IMAGE_STEPS 3

/* How the map of a heap's methods is read (dotnet_code.c). */
enum dotnet_method_map {
	DOTNET_MAP_BACKWARD, /* to 9: the last entry at or before an address */
	DOTNET_MAP_DIRECT, /* from 10: likewise, but long methods have references to their start */
};

struct dotnet_layout {
	uint64_t descriptor; /* address in the file; 0: the file exports none */
	uint64_t variables;  /* likewise: g_dacTable */
	uint64_t code_map;   /* likewise: RangeSectionMap */
	bool complete;       /* code_map and what follows are known */
	uint8_t token_bits;  /* of DOTNET_METHOD_TOKEN */
	uint8_t method_map;  /* enum dotnet_method_map */
	uint8_t debug_form;  /* of DOTNET_CODE_DEBUG: enum debug_bounds_form */
	bool debug_flags;    /* struct debug_info.has_flags */
	uint16_t at[DOTNET_FIELDS];
	/*
	 * Until 8 the module has no base, but an assembly: fields that lead from that to the base;
	 * else all are 0.
	 */
	uint8_t image[DOTNET_IMAGE_STEPS];
};

#endif /* NODE_AGENT_INTERPRETER_DOTNET_LAYOUT_H */
