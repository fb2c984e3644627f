/*
 * An output format of ClickHouse may do more than print: those with a schema make the engine write
 * a schema file and compile it, Template reads files, AvroConfluent registers schemas over the
 * network, and wire protocols of other databases are of no use over HTTP. So this is a list of
 * what is allowed. test/store compares it with the engine's own list: a format that is neither
 * here nor among those known to be refused fails the test.
 */
#include "cluster-agent/sql/sql_formats.h"

#include <stdlib.h>
#include <strings.h>

#define BINARY "application/octet-stream"
#define CSV "text/csv; charset=UTF-8; header=absent"
#define CSV_HEADER "text/csv; charset=UTF-8; header=present"
#define JSON "application/json; charset=UTF-8"
#define NDJSON "application/x-ndjson; charset=UTF-8"
#define PROMETHEUS "text/plain; version=0.0.4; charset=UTF-8"
#define TEXT "text/plain; charset=UTF-8"
#define TSV "text/tab-separated-values; charset=UTF-8"
#define XML "application/xml; charset=UTF-8"

/* In the order of strcasecmp(). Content types are those of system.formats. */
static const struct sql_format formats[] = {
	{"Arrow", BINARY},
	{"ArrowStream", BINARY},
	{"Avro", BINARY},
	{"BSONEachRow", BINARY},
	{"Buffers", BINARY},
	{"CSV", CSV},
	{"CSVWithNames", CSV_HEADER},
	{"CSVWithNamesAndTypes", CSV_HEADER},
	{"CustomSeparated", TEXT},
	{"CustomSeparatedWithNames", TEXT},
	{"CustomSeparatedWithNamesAndTypes", TEXT},
	{"Hash", TEXT},
	{"JSON", JSON},
	{"JSONColumns", JSON},
	{"JSONColumnsWithMetadata", JSON},
	{"JSONCompact", JSON},
	{"JSONCompactColumns", JSON},
	{"JSONCompactEachRow", TEXT},
	{"JSONCompactEachRowWithNames", TEXT},
	{"JSONCompactEachRowWithNamesAndTypes", TEXT},
	{"JSONCompactEachRowWithProgress", JSON},
	{"JSONCompactStrings", JSON},
	{"JSONCompactStringsEachRow", TEXT},
	{"JSONCompactStringsEachRowWithNames", TEXT},
	{"JSONCompactStringsEachRowWithNamesAndTypes", TEXT},
	{"JSONCompactStringsEachRowWithProgress", JSON},
	{"JSONEachRow", NDJSON},
	{"JSONEachRowWithProgress", JSON},
	{"JSONLines", NDJSON},
	{"JSONObjectEachRow", JSON},
	{"JSONStrings", JSON},
	{"JSONStringsEachRow", NDJSON},
	{"JSONStringsEachRowWithProgress", JSON},
	{"LineAsString", TSV},
	{"LineAsStringWithNames", TSV},
	{"LineAsStringWithNamesAndTypes", TSV},
	{"Markdown", TEXT},
	{"MD", TEXT},
	{"MsgPack", BINARY},
	{"Native", BINARY},
	{"NDJSON", NDJSON},
	{"Npy", BINARY},
	{"Null", TEXT},
	{"ORC", BINARY},
	{"Parquet", BINARY},
	{"Pretty", TEXT},
	{"PrettyCompact", TEXT},
	{"PrettyCompactMonoBlock", TEXT},
	{"PrettyCompactNoEscapes", TEXT},
	{"PrettyCompactNoEscapesMonoBlock", TEXT},
	{"PrettyJSONEachRow", NDJSON},
	{"PrettyJSONLines", NDJSON},
	{"PrettyMonoBlock", TEXT},
	{"PrettyNDJSON", NDJSON},
	{"PrettyNoEscapes", TEXT},
	{"PrettyNoEscapesMonoBlock", TEXT},
	{"PrettySpace", TEXT},
	{"PrettySpaceMonoBlock", TEXT},
	{"PrettySpaceNoEscapes", TEXT},
	{"PrettySpaceNoEscapesMonoBlock", TEXT},
	{"Prometheus", PROMETHEUS},
	{"Raw", TSV},
	{"RawBLOB", TEXT},
	{"RawWithNames", TSV},
	{"RawWithNamesAndTypes", TSV},
	{"RowBinary", BINARY},
	{"RowBinaryWithNames", BINARY},
	{"RowBinaryWithNamesAndTypes", BINARY},
	{"SQLInsert", TEXT},
	{"TabSeparated", TSV},
	{"TabSeparatedRaw", TSV},
	{"TabSeparatedRawWithNames", TSV},
	{"TabSeparatedRawWithNamesAndTypes", TSV},
	{"TabSeparatedWithNames", TSV},
	{"TabSeparatedWithNamesAndTypes", TSV},
	{"TSKV", TSV},
	{"TSV", TSV},
	{"TSVRaw", TSV},
	{"TSVRawWithNames", TSV},
	{"TSVRawWithNamesAndTypes", TSV},
	{"TSVWithNames", TSV},
	{"TSVWithNamesAndTypes", TSV},
	{"Values", TEXT},
	{"Vertical", TEXT},
	{"XML", XML},
};

struct name {
	const char *start;
	size_t len;
};

static int compare(const void *key, const void *element)
{
	const struct name *name = key;
	const struct sql_format *format = element;
	int r = strncasecmp(name->start, format->name, name->len);

	return r != 0 ? r : -(format->name[name->len] != '\0');
}

const struct sql_format *sql_format_find(const char *name, size_t len)
{
	const struct name key = {name, len};

	if (memchr(name, '\0', len))
		return NULL;
	return bsearch(&key, formats, ARRAY_SIZE(formats), sizeof(formats[0]), compare);
}

const struct sql_format *sql_format_at(size_t i)
{
	return i < ARRAY_SIZE(formats) ? &formats[i] : NULL;
}
