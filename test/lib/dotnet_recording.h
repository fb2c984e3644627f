/*
 * What was read of a real process to name frames of .NET, as lines of text: written by
 * test/dotnet/check_dotnet_frames.c, read by test/unit/test_dotnet_recordings.c.
 *
 *	file RELEASE VARIABLES DESCRIPTOR    "9.0", and what recognise() found in the file
 *	bias NUMBER
 *	memory ADDRESS BYTES                 numbers and bytes are hexadecimal
 *	frame CODE CHECK AT FUNCTION|FILE
 */
#ifndef TEST_LIB_DOTNET_RECORDING_H
#define TEST_LIB_DOTNET_RECORDING_H

#define DOTNET_RECORDING_FOLDER "test/data/dotnet_frames"

#endif /* TEST_LIB_DOTNET_RECORDING_H */
