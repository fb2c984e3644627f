/*
 * Offsets in bytes in the structures of Perl that are the same from 5.28 to 5.44 on 64-bit
 * machines, as offsetof() has them with the headers of each release: cop.h, cv.h, gv.h, hv.h, sv.h.
 */
#ifndef NODE_AGENT_INTERPRETER_PERL_OFFSETS_H
#define NODE_AGENT_INTERPRETER_PERL_OFFSETS_H

/* COP: a statement */
#define PERL_COP_TYPE_LINE 32u /* a word: type and flags of the op; the upper half is the line */
#define PERL_COP_FILE 48u

/* PERL_CONTEXT: its kind is in the lowest 4 bits of the first byte */
#define PERL_CONTEXT_NULL 0u /* a block that sort() runs */
#define PERL_CONTEXT_SUB 9u
#define PERL_CONTEXT_FORMAT 10u
#define PERL_CONTEXT_EVAL 11u
#define PERL_CONTEXT_BLOCK_FLAG 0x40u /* of an eval: of a block, not of text or a file */
#define PERL_CONTEXT_REGEX_FLAG 0x40u /* of a sub: it is a block in a regular expression */
#define PERL_CONTEXT_FAKE_FLAG 0x80u  /* likewise: in the sub that runs it */
#define PERL_CONTEXT_KIND_MASK 15u

/* SV, and what begins like one: CV, GV, HV */
#define PERL_SV_BODY 0u
#define PERL_SV_FLAGS 12u
#define PERL_SV_TYPE_MASK 0xffu
#define PERL_SV_UNION 16u /* of a GV: its GP; of a HV: its array */
#define PERL_TYPE_GV 9u
#define PERL_TYPE_HV 12u
#define PERL_TYPE_CV 13u
#define PERL_TYPE_FORMAT 14u
#define PERL_HV_HAS_NAME 0x02000000u

/* bodies */
#define PERL_CV_STASH 32u
#define PERL_CV_NAME 56u /* a GV, or a HEK if it is named */
#define PERL_CV_FLAGS 92u
#define PERL_CV_NAMED 0x8000u
#define PERL_CV_LEXICAL 0x10000u
#define PERL_GV_NAME 32u /* a HEK */
#define PERL_GV_STASH 40u
#define PERL_HV_MAX 24u
#define PERL_HV_BODY_BYTES 32u
#define PERL_GP_EGV 56u /* the GV that it was declared as */

/* xpvhv_aux */
#define PERL_AUX_NAME 0u
#define PERL_AUX_NAME_COUNT 28u

/* HEK: length, then text */
#define PERL_HEK_LENGTH 4u
#define PERL_HEK_TEXT 8u

#endif /* NODE_AGENT_INTERPRETER_PERL_OFFSETS_H */
