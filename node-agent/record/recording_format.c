#include "node-agent/record/recording_format.h"

static const struct {
	enum recording_format format;
	const char *name;
	const char *endings[4];
} formats[] = {
	{RECORDING_FORMAT_PPROF, "pprof", {".pb.gz", ".pprof", ".pgo"}},
	{RECORDING_FORMAT_FOLDED, "folded", {".folded", ".collapsed", ".txt"}},
	{RECORDING_FORMAT_SPEEDSCOPE, "speedscope", {".speedscope.json", ".json"}},
	{RECORDING_FORMAT_SVG, "svg", {".svg"}},
	{RECORDING_FORMAT_HTML, "html", {".html", ".htm"}},
};

enum recording_format recording_format_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].format;
	}
	return RECORDING_FORMAT_NONE;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

enum recording_format recording_format_of_file(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(formats[i].endings) && formats[i].endings[k]; k++)
			if (ends_with(path, formats[i].endings[k]))
				return formats[i].format;
	}
	return RECORDING_FORMAT_NONE;
}
