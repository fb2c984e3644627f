/* The files that a recording can become, and how their names tell. Pure. */
#ifndef NODE_AGENT_RECORD_RECORDING_FORMAT_H
#define NODE_AGENT_RECORD_RECORDING_FORMAT_H

#include "common/base.h"

enum recording_format {
	RECORDING_FORMAT_NONE,
	RECORDING_FORMAT_PPROF,
	RECORDING_FORMAT_FOLDED,
	RECORDING_FORMAT_SPEEDSCOPE,
	RECORDING_FORMAT_SVG,
	RECORDING_FORMAT_HTML,
};

/* By its name as in --format: "pprof". RECORDING_FORMAT_NONE if there is none. */
enum recording_format recording_format_named(const char *name);
/* By the end of a file's name: "x.pb.gz". Likewise. */
enum recording_format recording_format_of_file(const char *path);

/* For messages. */
#define RECORDING_FORMAT_NAMES "pprof, folded, speedscope, svg or html"
#define RECORDING_FORMAT_ENDINGS ".pb.gz, .folded, .speedscope.json, .svg or .html"

#endif /* NODE_AGENT_RECORD_RECORDING_FORMAT_H */
