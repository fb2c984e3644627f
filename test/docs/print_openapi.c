/*
 * Prints the paths of docs/openapi.json, with the parameters that the server's own tables have.
 * openapi.js puts them beside the schemas of the answers, which are written by hand.
 */
#include <ctype.h>

#include "cluster-agent/notes/note_store.h"
#include "cluster-agent/web/web_params.h"
#include "common/text/json_writer.h"

#define MAX_BYTES ((size_t)1 << 20)

static void put_int(struct json_writer *w, const char *key, uint64_t v)
{
	json_key(w, key);
	json_put_int(w, (int64_t)v);
}

static void put_number_schema(struct json_writer *w, const struct web_param *p)
{
	json_member_text(w, "type", "integer");
	put_int(w, "minimum", p->min);
	put_int(w, "maximum", p->max);
	if (p->def > 0)
		put_int(w, "default", p->def);
}

static void put_schema(struct json_writer *w, const struct web_param *p)
{
	json_key(w, "schema");
	json_open(w, '{');
	switch (p->kind) {
	case WEB_PARAM_TIME:
	case WEB_PARAM_COUNT:
		put_number_schema(w, p);
		break;
	case WEB_PARAM_DURATION:
		json_member_text(w, "type", "string");
		json_member_text(w, "pattern", "^([0-9]+|([0-9.]+(d|h|m|s|ms|us|ns))+)$");
		break;
	case WEB_PARAM_NAME:
	case WEB_PARAM_TEXT:
	case WEB_PARAM_MATCHERS:
		json_member_text(w, "type", "string");
		put_int(w, "maxLength", p->max);
		break;
	case WEB_PARAM_KEY:
		json_member_text(w, "type", "string");
		json_member_text(w, "pattern", "^[0-9a-f]{16}$");
		break;
	case WEB_PARAM_PURPOSE:
		json_member_text(w, "type", "string");
		json_key(w, "enum");
		json_open(w, '[');
		json_put_string(w, "go-pgo", 6);
		json_close(w, ']');
		break;
	case WEB_PARAM_SORT:
		json_member_text(w, "type", "string");
		json_key(w, "enum");
		json_open(w, '[');
		json_put_string(w, "self", 4);
		json_put_string(w, "total", 5);
		json_put_string(w, "diff", 4);
		json_close(w, ']');
		json_member_text(w, "default", "self");
		break;
	case WEB_PARAM_FORMAT:
		json_member_text(w, "type", "string");
		json_key(w, "enum");
		json_open(w, '[');
		json_put_string(w, "json", 4);
		json_put_string(w, "columns", 7);
		json_close(w, ']');
		json_member_text(w, "default", "json");
		break;
	}
	json_close(w, '}');
}

static void put_params(struct json_writer *w, enum web_endpoint_id endpoint)
{
	size_t n;
	const struct web_param *params = web_params(&n);

	json_key(w, "parameters");
	json_open(w, '[');
	for (size_t i = 0; i < n; i++) {
		if (!(params[i].endpoints & WEB_ENDPOINT_BIT(endpoint)))
			continue;
		json_open(w, '{');
		json_member_text(w, "name", params[i].name);
		json_member_text(w, "in", "query");
		if (params[i].required & WEB_ENDPOINT_BIT(endpoint)) {
			json_key(w, "required");
			json_put_bool(w, true);
		}
		json_member_text(w, "description", params[i].help);
		put_schema(w, &params[i]);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_reference(struct json_writer *w, const char *key, const char *kind,
			  const char *name)
{
	char reference[100];

	snprintf(reference, sizeof(reference), "#/components/%s/%s", kind, name);
	json_key(w, key);
	json_open(w, '{');
	json_member_text(w, "$ref", reference);
	json_close(w, '}');
}

static void put_columns(struct json_writer *w)
{
	json_key(w, WEB_COLUMNS_TYPE);
	json_open(w, '{');
	json_key(w, "schema");
	json_open(w, '{');
	json_member_text(w, "type", "string");
	json_member_text(w, "format", "binary");
	json_close(w, '}');
	json_close(w, '}');
}

static void put_responses(struct json_writer *w, const struct web_endpoint *e)
{
	json_key(w, "responses");
	json_open(w, '{');
	json_key(w, "200");
	json_open(w, '{');
	json_member_text(w, "description", e->summary);
	json_key(w, "content");
	json_open(w, '{');
	json_key(w, e->content_type);
	json_open(w, '{');
	if (e->schema)
		put_reference(w, "schema", "schemas", e->schema);
	json_close(w, '}');
	if (e->has_columns)
		put_columns(w);
	json_close(w, '}');
	json_close(w, '}');
	if (!e->method)
		put_reference(w, "304", "responses", "NotModified");
	put_reference(w, "400", "responses", "BadRequest");
	put_reference(w, "401", "responses", "Unauthorized");
	put_reference(w, "503", "responses", "Unavailable");
	json_close(w, '}');
}

static void put_body(struct json_writer *w)
{
	json_key(w, "requestBody");
	json_open(w, '{');
	json_key(w, "content");
	json_open(w, '{');
	json_key(w, "text/plain");
	json_open(w, '{');
	json_key(w, "schema");
	json_open(w, '{');
	json_member_text(w, "type", "string");
	put_int(w, "maxLength", NOTE_STORE_TEXT_BYTES);
	json_close(w, '}');
	json_close(w, '}');
	json_close(w, '}');
	json_close(w, '}');
}

static void put_method(struct json_writer *w, enum web_endpoint_id id)
{
	const struct web_endpoint *e = &web_endpoints[id];
	char method[8], operation[40];
	size_t n = strlen(e->method ?: "GET");

	for (size_t i = 0; i <= n; i++)
		method[i] = (char)tolower((e->method ?: "GET")[i]);
	snprintf(operation, sizeof(operation), "%s%s%s", e->method ? method : "",
		 e->method ? "_" : "", e->path);
	json_key(w, method);
	json_open(w, '{');
	json_member_text(w, "operationId", operation);
	json_member_text(w, "summary", e->summary);
	put_params(w, id);
	if (e->takes_text)
		put_body(w);
	put_responses(w, e);
	json_close(w, '}');
}

/* With all its methods, at the first of them. */
static void put_path(struct json_writer *w, enum web_endpoint_id id)
{
	const char *path = web_endpoints[id].path;
	char full[100];

	for (unsigned i = 0; i < id; i++)
		if (strcmp(web_endpoints[i].path, path) == 0)
			return;
	snprintf(full, sizeof(full), "/api/%s", path);
	json_key(w, full);
	json_open(w, '{');
	for (unsigned i = id; i < WEB_ENDPOINT_MAX; i++)
		if (strcmp(web_endpoints[i].path, path) == 0)
			put_method(w, i);
	json_close(w, '}');
}

int main(void)
{
	CLEANUP(buf_fini) struct buf out;
	struct json_writer w;

	buf_init(&out, MAX_BYTES);
	json_writer_init(&w, &out);
	json_open(&w, '{');
	for (unsigned id = 0; id < WEB_ENDPOINT_MAX; id++)
		if (web_endpoints[id].path[0])
			put_path(&w, id);
	json_close(&w, '}');
	if (json_writer_finish(&w) < 0)
		return 1;
	puts(out.data);
	return 0;
}
