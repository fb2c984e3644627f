/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Contract between the walk (chain_walk.bpf.h) and user space: how the frames of an interpreter are
 * found in the memory of a process, and what a record says of them.
 *
 * An interpreter keeps frames of its own. What differs between languages and releases is where the
 * first frame is, which words of a frame to take, where the next one is, and how the frames of one
 * call of the interpreter's loop are told from those of its caller. User space says this for each
 * process in a struct chain_layout, which the walk executes. So there is one walker and no program
 * per language.
 *
 * The walk over native frames goes on until an address lies in the loop of the interpreter. There
 * it takes a run: the frames that this call of the loop executes. Then native frames go on.
 *
 * Compiled like sample_event.h.
 */
#ifndef BPF_FRAME_CHAIN_H
#define BPF_FRAME_CHAIN_H

#include "sample_event.h"

/* ---- where the first frame is ---- */

/* What a path starts from. */
enum chain_origin {
	CHAIN_NONE,   /* there is no such path */
	CHAIN_THREAD, /* the thread pointer; on x86-64 the base of fs */
	CHAIN_FIXED,  /* 0: the first step is an address */
	/*
	 * The thread pointer plus the word at `word`, where the dynamic linker has put an offset.
	 */
	CHAIN_THREAD_AT,
	/*
	 * A value of this thread that is in a table of the C library: that of a key of
	 * pthread_getspecific(3), or the variables of a module (the DTV).
	 */
	CHAIN_KEY,
	CHAIN_CALL, /* no path: those who call the loop know where the frames are (chain_calls) */
};

/* How a table of the C library is read: words at (thread pointer + blocks) lead to its blocks. */
struct chain_table {
	__s32 blocks;
	__u8 block_shift; /* log2 of the entries of a block */
	__u8 stride;      /* bytes of an entry */
	__u8 value;       /* where in an entry its value is */
	/*
	 * Where in the word at `word` the key is. 32: it is the upper half, and the lower one is
	 * not 0 if the key was made (Py_tss_t). 0: it is the lower half.
	 */
	__u8 key_shift;
};

#define CHAIN_STEPS 7
#define CHAIN_KEYS 1024 /* and modules: a larger number is none */

/*
 * From an origin, each step reads the word at (what the last one has found + step). What the last
 * one finds is the frame. A 0 on the way: there is none.
 */
struct chain_path {
	__u8 origin; /* enum chain_origin */
	__u8 n_steps;
	__u8 shift; /* of a state: its upper bits that do not count, up to 63 */
	/* 1 + the number of the step that finds the first anchor; 0: there are none. */
	__u8 anchor;
	/*
	 * Of a state: 1 + the number of the step that must find what the path to the first frame
	 * starts from, else the state is clear; 0: there is none.
	 */
	__u8 own;
	__u8 pad[3];
	__u64 word;               /* CHAIN_THREAD_AT, CHAIN_KEY: an address of the process */
	struct chain_table table; /* CHAIN_KEY */
	__s64 steps[CHAIN_STEPS];
};
_Static_assert(sizeof(struct chain_path) == 80, "chain_path layout");

/* ---- frames ---- */

enum chain_next {
	CHAIN_NEXT_WORD,    /* the word at `next` is the address of the caller's frame */
	CHAIN_NEXT_STRIDE,  /* it is at this one + `next` bytes, which may be negative */
	CHAIN_NEXT_ELEMENT, /* likewise, in a stack: struct chain_stacks */
	CHAIN_NEXT_CALL,    /* as the first or the second one: struct chain_calls */
	CHAIN_NEXT_SLOT,    /* at this one - what one of its words says: struct chain_slots */
	CHAIN_NEXT_SCAN,    /* return addresses among values: struct chain_scan */
};

enum chain_end {
	CHAIN_END_EACH,    /* each frame is a run */
	CHAIN_END_LAST,    /* the frame that matches is the last one of its run */
	CHAIN_END_BETWEEN, /* what matches is no frame, and ends the run above it */
};

#define CHAIN_FRAME_WORDS 16 /* a power of two */

#define CHAIN_OWNER_STEPS 16 /* environments */

/*
 * Code may not know its class; what owns it does, such as a method. The owner is in the environment
 * of a frame or in one around that. Then an entry's `at` is the owner, and its check is
 * chain_check_at(). The entry of a frame that has no code is of its owner, with the check of the
 * word at `body` in that. Offsets are in bytes.
 */
struct chain_owner {
	__u16 environment; /* in the frame: where its environment is; 0: frames have no owner */
	__s16 value;       /* in an environment: the object that may be the owner */
	__s16 next;        /* in it: the one around; its lowest three bits are not part of it */
	__s16 last;        /* in it: a word that has one of the bits last_mask if none is around */
	__u64 last_mask;
	__u64 kind_mask; /* the first word of an object, with this, says what it is: */
	__u64 kind;      /* an owner, */
	__u64 box;       /* or one that has the object in its word at box_value */
	__u16 box_value;
	__u16 body;  /* in the code object: its body */
	__u16 first; /* in the body: where the words begin that the frame is at one of */
	__u16 pad;
};
_Static_assert(sizeof(struct chain_owner) == 48, "chain_owner layout");

#define CHAIN_AT_BITS 20 /* of the index of a word */
#define CHAIN_AT_MAX (1U << CHAIN_AT_BITS)

/*
 * Offsets are in bytes from the address of a frame; all words that are taken lie in the
 * CHAIN_FRAME_WORDS from `from` on, at multiples of a word from there.
 */
struct chain_frames {
	__u8 next_is;  /* enum chain_next */
	__u8 end_is;   /* enum chain_end */
	__u16 n_bytes; /* that are read, from `from` on; a multiple of 8, at most 128 */
	__u16 from;
	__u16 code; /* the code object; its lowest three bits are not part of the address */
	__u16 at;   /* where in the code: an address or an index */
	__s16 next;
	__u16 end; /* what end_mask is applied to */
	/*
	 * If not CHAIN_END_HERE: the word at (the one at `end` + end_at) instead. With an owner, it
	 * is one of the environment, from `value` to `last`; else end_code and check_more are 0.
	 */
	__s16 end_at;
	__u16 check; /* in the code object: a word that changes when another one is there */
	/*
	 * If check_more is not 0, it is above `check`, the words at both are addresses, and it is
	 * the words at (address + check_at) that change.
	 */
	__u16 check_more;
	__s16 check_at;
	/*
	 * An anchor is an object of the interpreter on the C stack, in the native frame that
	 * executes a run. It tells which native frame a run belongs to, even if a call of the loop
	 * has just begun and has no frames yet. Anchors are a linked list: the word at (anchor +
	 * anchor_next) is the next one. With CHAIN_END_BETWEEN, what ends a run is its anchor.
	 */
	__u16 anchor_next;
	__u64 at_mask;
	/*
	 * A frame matches if (word & end_mask) >= end_value, and if the first word of its code
	 * object has one of the bits end_code, unless that is 0.
	 */
	__u64 end_mask;
	__u64 end_value;
	__u64 end_code;
	/*
	 * Behind the last frame of an array is one with (the same word & stop_mask) >= stop_value;
	 * 0: nothing says where it ends.
	 */
	__u64 stop_mask;
	__u64 stop_value;
	struct chain_owner owner;
};
_Static_assert(sizeof(struct chain_frames) == 120, "chain_frames layout");
#define CHAIN_END_HERE (-32768)

/*
 * Frames may be elements of arrays (CHAIN_NEXT_ELEMENT), from the last one down, beside elements
 * that are none. Each array belongs to a stack, and stacks are a linked list. Paths lead to a
 * stack. A run ends at a frame whose word at `end` is 0, or with its stack. Below all of them is
 * one more frame, whose code is 0.
 *
 * What a frame has at `at` is where its caller is; where the first frame is, a path says.
 */
struct chain_stacks {
	/*
	 * In a stack: the address of its first element; the index of its last one, 32 bits, below 0
	 * if there is none; and the stack below, 0 if there is none.
	 */
	__u16 elements;
	__u16 last;
	__u16 below;
	/*
	 * An element has a byte whose lowest 4 bits are its kind. The kinds that are frames, and
	 * which of these have a code object. The code of the others is chain_code_of_kind(), with
	 * whether the word at `mark` is not 0.
	 */
	__u16 frames;
	__u16 coded;
	__u16 mark;
	/* A frame whose byte has these bits, or those, is none if it would end a run. */
	__u8 hidden_mask;
	__u8 hidden;
	__u8 hidden_mask_too;
	__u8 hidden_too;
	/* A frame with this byte, or with these bits, belongs to the run that has ended above. */
	__u8 joined;
	__u8 joined_mask;
	__u8 joined_too;
	__u8 pad[3];
	/*
	 * A code object may be freed soon, but not the object that has its name, which is sent
	 * instead: the word at (the one at `body` of it + name), unless that at (the same + flags)
	 * has a bit of named.
	 */
	__u16 body;
	__u16 name;
	__u16 flags;
	__u16 at_check; /* where a frame is: the words of chain_check_place() */
	__u16 at_check_more;
	__u64 named;
};
_Static_assert(sizeof(struct chain_stacks) == 40, "chain_stacks layout");

#define CHAIN_SITES 22

/* A function that calls the loop; or nothing, with n_bytes 0. */
struct chain_site {
	__u32 start; /* relative to chain_layout.loop; may be below it */
	__u16 n_bytes;
	__s16 at; /* where it keeps the state that it calls the loop for: from its stack pointer */
};

/*
 * Coroutines have frames of their own: a C stack has the frames of several states, and no variable
 * says which one runs (CHAIN_NEXT_CALL). But each call of the loop is for one state, and functions
 * that call it keep that one: on their stack, or in a register, which the loop saves in the first
 * bytes of its frame. So the native frame below the loop's says which state it is.
 *
 * Frames have functions that are values. The code object of a function that was compiled, or the
 * address of a C function, is at `code` in what the value refers to; a value of the kind `light` is
 * that address. At the end of the frames is one without a function. What is at chain_frames.check
 * and at check_more counts itself; the latter is where the instructions are. A run ends with a
 * compiled function if (word & end_mask) == end_value.
 */
struct chain_calls {
	/* In a state: its first frame; where that one is in its code, 0: the frame has it */
	__u16 frame;
	__u16 at;
	__u16 kind;  /* in a state, a value, and a function: its kind, in the lowest byte */
	__u16 code;  /* in a function */
	__u16 value; /* in a frame: where its function is a value */
	__u16 size;  /* in a code object: how many instructions of 4 bytes there are */
	__u8 state_kind;
	__u8 function_kind; /* in 4 bits */
	__u8 light;         /* in 6 bits */
	/*
	 * Frames are an array, `next` is its stride, and what ends a run is not known: the next
	 * frame belongs to it if it is at an instruction that calls: one of call_codes, by its
	 * lowest 6 bits.
	 */
	__u8 is_array;
	/*
	 * Numbers of registers: of the state, in the first entry_bytes of the loop; of the next
	 * instruction in the loop, 255: it is in the frame.
	 */
	__u8 argument;
	__u8 next_instruction;
	__u16 entry_bytes;
	__u16 mark_bytes; /* up to where the loop makes the frame the last one of a run */
	__u16 pad;
	__u64 native; /* bits that functions have in the word at `kind` if they are C functions */
	/* Bits that frames have in the word at `end` if they were put in place of their caller. */
	__u64 tail;
	__u64 call_codes;
	struct chain_site sites[CHAIN_SITES];
};
_Static_assert(sizeof(struct chain_calls) == 224, "chain_calls layout");

/*
 * Code that was generated runs on stacks of its own, those of the processes of Erlang: a stack has
 * values and return addresses, without anything that says how large a frame is. The collector of
 * garbage tells them apart by their lowest two bits, which are 0 in no value. So the stack, read
 * word by word from its top, is the chain: no word is guessed, and no rule for each instruction is
 * needed, which only the compiler could make.
 *
 * The first path leads to the process that a thread runs, the second one to the registers of the
 * thread's scheduler. Those are on the thread's own stack, above what C functions use when
 * generated code calls them; so the native walk comes back to generated code there, goes on to the
 * top of the process's stack, and from its bottom to the function that has called generated code,
 * whose return address is known and a few words above the registers.
 *
 * A frame is where it is: `code` of an entry is that with its lowest three bits cleared, and the
 * check is of the word there.
 */
struct chain_scan {
	__u64 back;    /* the return address in the function that calls generated code */
	__u16 back_at; /* from the registers on: the first of CHAIN_FRAME_WORDS that it is among */
	__u16 top;     /* in a process: where the top of its stack may be stored */
	__u16 lowest;  /* how far its memory goes, of which the stack is the upper end */
	__u16 end;
	/*
	 * After a call of a C function, code soon loads the top of its own stack again, by one of
	 * these instructions: from the frame pointer, or from the word at `top`.
	 */
	__u32 from_frame_pointer; /* three bytes of an instruction */
	__u32 from_process;       /* four */
};
_Static_assert(sizeof(struct chain_scan) == 24, "chain_scan layout");

/* In an entry's `at`, which is a multiple of 4. */
#define CHAIN_AT_TAIL 1   /* the caller has been replaced by the frame: nothing says its name */
#define CHAIN_AT_NATIVE 2 /* the code is the address of a C function */

/* Both: no frame, but generated code that was made from here on, and runs as the next frame. */
#define CHAIN_AT_TRACE 3

/*
 * LuaJIT. A state (a coroutine) has an array of values as its stack, and frames have no layout of
 * their own there: two values below the first one of a function are the function, and what says
 * where its caller's first value is. Its lowest three bits are a kind (enum chain_link); without
 * them it is a distance in bytes, or the whole is the next instruction of the caller, and the one
 * before that has the distance. The first two values are not those of a function.
 *
 * The loop is written in assembly and has one layout of its C frame, which says the state. The
 * state says where its innermost C frame is, so the two confirm each other. That finds the C frame
 * also where the stack pointer is below it by what nothing describes: in generated code, which
 * runs within the C frame, and where that has ended and its registers are saved.
 *
 * Words and values have 8 bytes. Offsets are in bytes.
 */
struct chain_slots {
	/*
	 * In the C frame: the state, and four words. In the lower half of the first one is a number
	 * below 0 if the loop was called for no function, but for C code: - where functions end in
	 * the array by then. In the third one is the next instruction of the innermost function, if
	 * nothing else says it; in the fourth, the C frame of the state's next call of the loop.
	 */
	__u16 state;
	__u16 from;
	/* In a state. */
	__u16 globals;
	__u16 base;    /* the first value of the innermost function, but while the loop has it */
	__u16 last;    /* the address up to which there are functions */
	__u16 first;   /* of the array */
	__u16 c_frame; /* its lowest two bits are not part of it */
	__u16 kind;    /* the second byte there is state_kind */
	__u8 state_kind;
	/* Of the loop, by its DWARF number: as base. So may the frame pointer be. */
	__u8 base_register;
	/* In a function: 0 in the third byte there if it was compiled; its first instruction. */
	__u16 function_kind;
	__u16 instructions;
	/* From the code object to its first instruction, and in it the number of instructions. */
	__u16 code_bytes;
	__u16 size;
	/* Of the generated code that runs: the code and the instruction that it begins with. */
	__u16 trace_code;
	__u16 trace_at;
	/* In globals: where the generated code has begun, as a first value; 0: none runs. */
	__s32 trace_base;
	__s32 trace_number; /* 32 bits; below 0: none, and one of these says that C code runs: */
	__u32 in_c;
	__s32 traces;     /* the address of an array of traces */
	__u32 resumes_at; /* from the start of the loop to where its C frame is as always */
	/* Of values that are functions: their bits from CHAIN_VALUE_BITS on. */
	__u64 function_tag;
};
_Static_assert(sizeof(struct chain_slots) == 64, "chain_slots layout");

/*
 * Coroutines that an event loop runs as tasks (CPython's asyncio). What awaits the running task is
 * not on the stack, but the task knows it: another task, or a future, which something may await in
 * turn, or a set of these. The path first_at leads to the running task. After the frame of its
 * coroutine, the chain has those of the tasks that await it, from the innermost coroutine of each
 * on, and the names of tasks. Offsets are in bytes.
 */
struct chain_tasks {
	/* In a task or a future; none of these is before awaited_by or after name. */
	__u16 awaited_by;
	__u16 is_task;   /* a byte */
	__u16 is_set;    /* a byte: awaited_by is a set */
	__u16 coroutine; /* in a task: what it runs */
	__u16 name;      /* in a task */
	__u16 type;      /* in each object */
	/* In a coroutine: its frame, and a byte, which is awaits_state if it awaits another one. */
	__u16 frame;
	__u16 state;
	__u16 top;    /* in a frame: behind its values */
	__u16 awaits; /* so far in front of that is the coroutine that it awaits */
	/* In a set. Slots of its table: an element, or 0; and -1 if that was removed. */
	__u16 set_used;
	__u16 set_mask;
	__u16 set_table;
	/* In a name, if it is a text: words of chain_check_text(). */
	__u16 text_bytes;
	__u16 text;
	__u8 awaits_state; /* one less: suspended otherwise */
	__u8 pad;
	__u64 coroutine_type;
	__u64 text_type;
};
_Static_assert(sizeof(struct chain_tasks) == 48, "chain_tasks layout");

#define CHAIN_SET_SLOTS 8u /* of a set that is searched for its only element */

/* In an entry's `at`: it is no frame. */
enum chain_at_task {
	CHAIN_AT_TASK_NAME = 1, /* the code is the name of a task, the check chain_check_text() */
	/* The code is CHAIN_TASKS_CODE, and the tasks from here on are left out: */
	CHAIN_AT_TASKS_SEVERAL,    /* several of them await the one before */
	CHAIN_AT_TASKS_UNREADABLE, /* the memory of the next one */
	CHAIN_AT_TASKS_MANY,       /* there are too many, or they turn in a circle */
	CHAIN_AT_TASKS_END,
};
#define CHAIN_TASKS_CODE 8u

#define CHAIN_VALUE_BITS 47
#define CHAIN_VALUE_MASK ((1ULL << CHAIN_VALUE_BITS) - 1)

enum chain_link {
	CHAIN_LINK_CODE,      /* in two bits: the whole is the next instruction */
	CHAIN_LINK_C,         /* in two bits: C code has called the loop for the function */
	CHAIN_LINK_CONTINUES, /* the two values below say how the caller goes on, and where */
	CHAIN_LINK_ARGUMENTS, /* no function: arguments that have moved */
};

/* Below it, the code of a frame is no address, but its kind. */
#define CHAIN_CODES 8192u

static inline __u64 chain_code_of_kind(__u8 byte, __u64 marked)
{
	return (((__u64)byte << 1 | (marked != 0)) + 1) << 3;
}

/* ---- of a process ---- */

#define CHAIN_PATHS 2 /* the first that leads to a frame counts */

/* What may be known of the thread. */
enum chain_state_kind {
	CHAIN_COLLECTS,   /* its interpreter collects garbage, in this thread or in another one */
	CHAIN_HOLDS_LOCK, /* it has the lock that only one thread of an interpreter has at a time */
	CHAIN_STATES,
};

#define CHAIN_TEXTS 3

/* In chain_layout.texts: what lies where the frame is in its code, struct chain_frames.at. */
#define CHAIN_TEXT_AT 1

#define CHAIN_THREAD_BYTES 8192 /* a pthread_t lies no further below the thread pointer */

#define CHAIN_RANGES 32 /* a power of two */

enum chain_flag {
	CHAIN_ANONYMOUS_IS_LOOP = 1, /* generated code, which runs frames of the interpreter */
	/* The loop has several functions: native frames in it that call each other are one. */
	CHAIN_LOOP_IS_JOINED = 2,
	/* A JVM: it has no chain, but frames of its own kinds on the stack (hotspot_walk.bpf.h). */
	CHAIN_IS_JVM = 4,
	/*
	 * Frames are native ones, in generated code and in the loop, with words of V8's below the
	 * frame pointer (v8_walk.bpf.h). There are no paths. Of struct chain_frames, `code` is in
	 * the function, `check` in its code object, and `at` is how far below the frame pointer.
	 */
	CHAIN_IN_NATIVE = 8,
	/*
	 * Frames are native ones, and each address in generated code is one of the chain (.NET):
	 * `code` of an entry is the address with its lowest three bits cleared, `at` the address,
	 * and the check is of the word at `code`. There are no paths, but struct chain_dotnet.
	 */
	CHAIN_BY_ADDRESS = 16,
	/*
	 * With CHAIN_ANONYMOUS_IS_LOOP and CHAIN_LOOP_IS_JOINED: the loop calls generated code,
	 * which calls C functions but no generated code, and has few words of its own on the
	 * stack. So the first word there that is an address in the loop is its return address. On
	 * x86-64.
	 */
	CHAIN_CALLED_BY_LOOP = 32,
	CHAIN_HAS_TASKS = 64,       /* struct chain_tasks; CHAIN_NEXT_WORD */
	CHAIN_IN_LOOPS_FRAME = 128, /* struct chain_guest; CHAIN_NEXT_WORD */
};

#define CHAIN_RETURNS 6
#define CHAIN_SAVED 6u

/*
 * Generated code that the loop jumps to, and which uses the loop's frame instead of one of its own
 * (PHP's opcache). So where it returns to is where the loop does: behind one of a few calls. While
 * it has something on the stack, that is further up, behind registers that the loop has saved; so
 * the first word there that is an address of code must be one of those. x86-64.
 */
struct chain_guest {
	__u64 code; /* where such code is, and no other */
	__u64 code_bytes;
	__u64 returns[CHAIN_RETURNS]; /* the last one again if there are fewer */
	__u16 back;                   /* from the loop's stack pointer to where it returns to */
	__s16 fp;      /* from there to the caller's frame pointer; 0: it is in its register */
	__u16 n_saved; /* registers below there; at most CHAIN_SAVED */
	__u16 pad;
};
_Static_assert(sizeof(struct chain_guest) == 72, "chain_guest layout");

/*
 * What the walk needs of .NET's runtime to find how code leaves its frame. Offsets are in bytes
 * from the start of an object.
 */
struct chain_dotnet {
	__u64 code_map; /* an address: the map of code ranges; 0: this is not known */
	__u16 section_flags;
	__u16 section_heap;
	__u16 heap_base;
	__u16 heap_map;
	__u16 n_functions; /* in a method's header, 32 bits */
	__u16 functions;
	__u8 direct; /* the map of a heap has references to where long methods begin */
	__u8 pad[3];
};
_Static_assert(sizeof(struct chain_dotnet) == 24, "chain_dotnet layout");

/*
 * Where HotSpot keeps its code, and what it says of it: addresses of variables, and offsets in
 * bytes from the start of an object. A blob is a piece of code; the first byte of each segment of a
 * heap tells how far its blob begins before it.
 */
struct chain_jvm {
	__u64 low; /* a variable: where the code of all heaps begins; 0: there is one heap */
	__u64 high;
	__u64 heaps; /* a variable: an array of pointers to heaps, or a pointer to the one heap */
	__u16 heaps_data;
	__u16 heap_low;
	__u16 heap_high;
	__u16 heap_segments;
	__u16 heap_shift; /* 32 bits: log2 of the bytes of a segment */
	__u16 blob_from;  /* from the first byte of its first segment */
	__u16 blob_name;
	__u16 blob_frame;    /* 32 bits: words of its frames */
	__u16 blob_complete; /* where, in the code, its frame is complete */
	__u16 blob_code;
	__u16 compile_id;   /* 32 bits: of a compiled method, another one for each */
	__u16 original;     /* 32 bits: where, in a frame, the address is that was replaced */
	__u16 deopt[2];     /* by one of these two */
	__u16 const_method; /* in a Method */
	__s16 bytecode;     /* words from the frame pointer of an interpreted method */
	__u16 flags;        /* enum chain_jvm_flag */
	__u16 pad[3];
};
_Static_assert(sizeof(struct chain_jvm) == 64, "chain_jvm layout");

enum chain_jvm_flag {
	CHAIN_JVM_COMPLETE_16 = 1, /* blob_complete has 16 bits, else 32 */
	CHAIN_JVM_CODE_OFFSET =
		2, /* blob_code is an offset from the blob of 32 bits, else a pointer */
	CHAIN_JVM_DEOPT_OFFSET = 4, /* and deopt */
};

/*
 * The frames of a JVM in a record: the code is that of a blob, and where it is an address in it;
 * with this bit, it is that of a Method, and where it is the address of a bytecode.
 */
#define CHAIN_JVM_INTERPRETED (1ULL << 47)
/* The code, where frames follow that are in the heap, those of a virtual thread. */
#define CHAIN_JVM_BARRIER 8u

/* Lies in a slab, as struct unwind_process, which refers to it. */
struct chain_layout {
	union {
		struct chain_path paths[CHAIN_PATHS];
		struct chain_jvm jvm;       /* CHAIN_IS_JVM */
		struct chain_dotnet dotnet; /* CHAIN_BY_ADDRESS */
	};
	/*
	 * About the state of the thread: what the last step finds is a word, which is not 0 if the
	 * state is set.
	 */
	struct chain_path states[CHAIN_STATES];
	/*
	 * Of an interpreter whose first frame is that of the thread that runs it: what the last
	 * step finds is the thread's pthread_t, which is the thread pointer or not far below.
	 * Others have no frames. CHAIN_NONE: each thread has frames of its own.
	 */
	struct chain_path thread;
	struct chain_frames frames;
	/* The loop: [loop + starts[i], loop + ends[i]), ascending and disjoint. */
	__u64 loop;
	__u32 loop_bytes; /* the last end */
	__u8 n_ranges;
	__u8 language; /* sent back; enum interpreter_language of user space */
	__u8 flags;    /* enum chain_flag */
	__u8 pad;
	__u32 starts[CHAIN_RANGES];
	__u32 ends[CHAIN_RANGES];
	/*
	 * What struct code_event has beside the code object: where this has pointers to it, in
	 * bytes, a multiple of a word; or CHAIN_TEXT_AT; 0: nothing. The first one is 0: no code
	 * is sent.
	 */
	__u16 texts[CHAIN_TEXTS];
	__u16 pad2;
	union {
		struct {
			union {
				struct chain_stacks stacks; /* CHAIN_NEXT_ELEMENT */
				struct chain_tasks tasks;   /* CHAIN_HAS_TASKS */
			};
			/*
			 * What it finds is where the first frame is; with CHAIN_HAS_TASKS, the task
			 * that runs.
			 */
			struct chain_path first_at;
		};
		struct chain_calls calls; /* CHAIN_NEXT_CALL */
		struct chain_scan scan;   /* CHAIN_NEXT_SCAN */
		struct chain_slots slots; /* CHAIN_NEXT_SLOT */
		struct chain_guest guest; /* CHAIN_IN_LOOPS_FRAME */
		/* CHAIN_IN_NATIVE: where the loop is in its file, which may be mapped again */
		__u64 loop_in_file;
		__u64 room[28];
	};
};
_Static_assert(sizeof(struct chain_layout) == 1024, "chain_layout layout");

/* ---- in a record ---- */

/*
 * In sample_event.chain_state: from bit 2 * (enum chain_state_kind) on each state, and from bit
 * CHAIN_LEFT_SHIFT on 1 + the index of the one native frame in the loop that no frame was left for;
 * 0 if there is none, or more than one. Unless anchors tell whose a run is, the innermost call has
 * none yet, or no more, and each run belongs to the next call.
 */
#define CHAIN_LEFT_SHIFT 16

/*
 * A bit of sample_event.chain_state: the name of a frame is the one that its caller calls it by,
 * which is the next entry of the record.
 */
#define CHAIN_CALLERS_NAME (1u << 8)

/*
 * Another bit: there is one run more than calls of the loop. The innermost one has not begun, and
 * each native frame executes the run behind the one that has its index.
 */
#define CHAIN_NOT_BEGUN (1u << 9)

/* In the `at` of an entry, with CHAIN_IN_NATIVE: it is an offset in bytecode, not an address. */
#define CHAIN_AT_BYTECODE (1ULL << 47)

enum chain_state {
	CHAIN_STATE_UNKNOWN,
	CHAIN_STATE_SET,
	CHAIN_STATE_CLEAR,
};

static inline enum chain_state chain_state_of(__u32 states, enum chain_state_kind kind)
{
	return (enum chain_state)(states >> 2 * kind & 3);
}

#define CHAIN_ENTRIES 1024 /* a power of two; a record has one fewer at most */

/*
 * Between a record's struct sample_event and its addresses are n_chain of these, from the leaf on.
 * The code object is aligned to 8 bytes; below its bits is the index of the native frame that
 * executes the frame, among all that were walked, or CHAIN_REST.
 */
struct chain_entry {
	/* bits 0 to 44: the address / 8; 45 to 56: the index; then the check's upper 7 */
	__u64 code;
	__u64 at; /* bits 0 to 47; then the lower 16 of the check */
};
_Static_assert(sizeof(struct chain_entry) == 16, "chain_entry layout");

#define CHAIN_CODE_SHIFT 3
#define CHAIN_CODE_MASK ((1ULL << 45) - 1)
#define CHAIN_INDEX_SHIFT 45
#define CHAIN_AT_MASK ((1ULL << 48) - 1)

/*
 * The index of frames that are left when the native walk has ended: it has not come by every call
 * of the loop.
 */
#define CHAIN_REST 4095u

/* What is sent of the check word, 23 bits; 0 if it could not be read, too. */
static inline __u32 chain_check(__u64 word)
{
	return (__u32)(word ^ word >> 24 ^ word >> 48) & 0x7fffff;
}

/*
 * The check of a frame with an owner: the index of the word that it is at, 0 if that is too far or
 * not among the words; above that, some bits of the body's address.
 */
static inline __u32 chain_check_at(__u64 index, __u64 body)
{
	return (__u32)(index < CHAIN_AT_MAX ? index : 0) | (__u32)(body >> 4 & 7) << CHAIN_AT_BITS;
}

/*
 * Where a frame is, by two words there. The first one does not count if its lower half is 0: its
 * upper half changes, then.
 */
static inline __u32 chain_check_place(__u64 one, __u64 other)
{
	return chain_check((__u32)one ? one : 0) ^ chain_check(other);
}

/* That of a text, by its length and its first word. */
static inline __u32 chain_check_text(__u64 bytes, __u64 word)
{
	return chain_check(bytes * 0x9e3779b97f4a7c15 ^ word);
}

#define CHAIN_CHECK_HALF 0xfffu

/* 12 bits of the check of one thing, 11 of another. CHAIN_NEXT_ELEMENT: the code, where in it. */
static inline __u32 chain_check_both(__u32 one, __u32 other)
{
	return ((one ^ one >> 12) & CHAIN_CHECK_HALF) | ((other ^ other >> 12) & 0x7ff) << 12;
}

static inline struct chain_entry chain_entry(__u64 code, __u64 at, __u32 index, __u32 check)
{
	return (struct chain_entry){
		.code = (code >> CHAIN_CODE_SHIFT & CHAIN_CODE_MASK) |
			(__u64)index << CHAIN_INDEX_SHIFT | (__u64)(check >> 16) << 57,
		.at = (at & CHAIN_AT_MASK) | (__u64)check << 48,
	};
}

static inline __u64 chain_entry_code(const struct chain_entry *e)
{
	return (e->code & CHAIN_CODE_MASK) << CHAIN_CODE_SHIFT;
}

static inline __u64 chain_entry_at(const struct chain_entry *e)
{
	return e->at & CHAIN_AT_MASK;
}

static inline __u32 chain_entry_index(const struct chain_entry *e)
{
	return (__u32)(e->code >> CHAIN_INDEX_SHIFT) & CHAIN_REST;
}

static inline __u32 chain_entry_check(const struct chain_entry *e)
{
	return (__u32)(e->code >> 57) << 16 | (__u32)(e->at >> 48);
}

/* ---- code objects ---- */

#define CODE_PIECES (1 + CHAIN_TEXTS)
#define CODE_PIECE_WORDS 32 /* a power of two */

/*
 * EVENT_CODE, in front of a sample with a code object that was not seen lately: the memory that its
 * name is read from. Some code is gone after a moment (what eval() runs, a module that has been
 * imported), so it cannot be read later. In user space it is an excerpt of the memory of the
 * process, and names are read from it as from the memory itself.
 */
struct code_event {
	struct event_header header;
	struct chain_entry entry;   /* its index is of no meaning */
	__u64 at[CODE_PIECES];      /* where pieces lie; that of the code object is the first */
	__u16 n_bytes[CODE_PIECES]; /* 0: there is none */
	__u64 words[CODE_PIECES][CODE_PIECE_WORDS];
};
_Static_assert(sizeof(struct code_event) == 88 + 256 * CODE_PIECES, "code_event layout");

#endif /* BPF_FRAME_CHAIN_H */
