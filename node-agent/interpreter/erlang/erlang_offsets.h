/* Of OTP 25 to 27 on 64-bit machines: what does not differ between them. */
#ifndef NODE_AGENT_INTERPRETER_ERLANG_OFFSETS_H
#define NODE_AGENT_INTERPRETER_ERLANG_OFFSETS_H

#define ERLANG_CODE_INDICES 3u

/* A table of ranges (struct ranges): where its entries are, and how many; they are sorted. */
#define ERLANG_RANGES_BYTES 32u
#define ERLANG_RANGES_N 8u
/* An entry: where the header of a module's code is, and the end of the code. */
#define ERLANG_RANGE_BYTES 16u

/* The header (BeamCodeHeader) begins with how many functions there are. */
#define ERLANG_CODE_LINES 72u /* NULL, or the table of lines */

/* A function (ErtsCodeInfo), of which the code follows: module and name are atoms. */
#define ERLANG_FUNCTION_MODULE 16u
#define ERLANG_FUNCTION_NAME 24u
#define ERLANG_FUNCTION_ARITY 32u

/*
 * The table of lines (BeamCodeLineTab): names of files; how many bytes a place has, 2 or 4; the
 * places; and for each function, and behind the last one, where its addresses begin. Each address
 * has a place, which is 0 if none is known. A place has the line in its lower 24 bits, above that
 * the index of the file's name, which is a list of characters.
 */
#define ERLANG_LINES_FILES 0u
#define ERLANG_LINES_PLACE_BYTES 8u
#define ERLANG_LINES_PLACES 16u
#define ERLANG_LINES_FUNCTIONS 24u
#define ERLANG_PLACE_FILE_SHIFT 24u

/* A word that is a list: the address of a cell, of two words: a character, and the rest. */
#define ERLANG_TAG_MASK UINT64_C(3)
#define ERLANG_LIST 1u
#define ERLANG_SMALL_MASK 0xfu /* a number: this in its lowest 4 bits */
#define ERLANG_SMALL 0xfu
#define ERLANG_SMALL_SHIFT 4u

/* A word that is an atom: this in its lowest 6 bits, above it the index. */
#define ERLANG_ATOM_MASK 0x3fu
#define ERLANG_ATOM 0x0bu
#define ERLANG_ATOM_SHIFT 6u
#define ERLANG_ATOMS_MAX (UINT64_C(1) << 31)
/* In the table of atoms (IndexTable): pieces of 1024 pointers. */
#define ERLANG_ATOMS_PIECES 120u
#define ERLANG_ATOMS_PIECE_SHIFT 10u
/* An atom: 16 bits, and where its UTF-8 is. */
#define ERLANG_ATOM_LENGTH 24u
#define ERLANG_ATOM_TEXT 32u
#define ERLANG_ATOM_BYTES_MAX 1020u /* 255 characters */

#endif /* NODE_AGENT_INTERPRETER_ERLANG_OFFSETS_H */
