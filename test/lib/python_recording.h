/*
 * What was read of a real process to name frames of CPython, as lines of text: written by
 * test/python/check_python_frames.c, read by test/unit/test_python_recordings.c.
 *
 *	layout NAME=NUMBER ...
 *	bias NUMBER
 *	memory ADDRESS BYTES          both hexadecimal
 *	frame CODE CHECK AT FUNCTION|FILE|LINE|START
 */
#ifndef TEST_LIB_PYTHON_RECORDING_H
#define TEST_LIB_PYTHON_RECORDING_H

/* All members of struct python_layout. */
#define PYTHON_RECORDING_LAYOUT(X) \
	X(minor)                   \
	X(line_format)             \
	X(index_bytes)             \
	X(str_kind_shift)          \
	X(object_type)             \
	X(type_name)               \
	X(code_name)               \
	X(code_qualname)           \
	X(code_filename)           \
	X(code_firstlineno)        \
	X(code_lines)              \
	X(code_bytecode)           \
	X(code_units)              \
	X(code_copies)             \
	X(code_check)              \
	X(str_length)              \
	X(str_state)               \
	X(str_ascii)               \
	X(str_compact)             \
	X(bytes_size)              \
	X(bytes_data)              \
	X(code_type)               \
	X(str_type)                \
	X(bytes_type)

#endif /* TEST_LIB_PYTHON_RECORDING_H */
