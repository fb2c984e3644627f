#include "cluster-agent/web/web_endpoints.h"

#define JSON "application/json"

const struct web_endpoint web_endpoints[WEB_ENDPOINT_MAX] = {
	[WEB_READY] = {"", profile_query_ready, "text/plain",
		       .summary = "Whether the store answers"},
	[WEB_TYPES] = {"types", profile_query_types, JSON, .is_constant = true, .schema = "Types",
		       .summary = "The profile types that the server knows"},
	[WEB_APPLICATIONS] = {"applications", profile_query_applications, JSON,
			      .schema = "Applications",
			      .summary = "The applications that have profiles in a range"},
	[WEB_MOVERS] = {"movers", profile_query_movers, JSON, .schema = "Movers",
			.summary = "The functions whose own CPU time changed most between two "
				   "ranges, over all applications"},
	[WEB_LEVELS] = {"levels", profile_query_levels, JSON, .schema = "Levels",
			.summary = "The applications whose memory in use, goroutines or threads "
				   "grew most"},
	[WEB_FLEET] = {"fleet", profile_query_fleet, JSON, .schema = "Fleet",
		       .summary =
			       "A function over all applications: how much each spends in it, by "
			       "day and version"},
	[WEB_NAMES] = {"names", profile_query_names, JSON, .schema = "Names",
		       .summary = "The largest functions of all applications with a text in their "
				  "names"},
	[WEB_LABELS] = {"labels", profile_query_labels, JSON, .schema = "Labels",
			.summary = "Labels of a selection, and their values by share"},
	[WEB_TIMELINE] = {"timeline", profile_query_timeline, JSON, .schema = "Timeline",
			  .summary = "How much of a profile type an application uses over time"},
	[WEB_HEATMAP] = {"heatmap", profile_query_heatmap, JSON, .schema = "Heatmap",
			 .summary = "The timelines of many instances, or of values of a label, in "
				    "steps as long as a profile or longer"},
	[WEB_FLAMEGRAPH] = {"flamegraph", profile_query_flamegraph, JSON, .has_stacks = true,
			    .has_columns = true, .schema = "Flamegraph",
			    .summary = "The merged tree of all stacks, and totals per function"},
	[WEB_FUNCTIONS] = {"functions", profile_query_functions, JSON, .has_stacks = true,
			   .schema = "Functions",
			   .summary = "Functions with their own and total values"},
	[WEB_FUNCTION] = {"function", profile_query_function, JSON, .has_stacks = true,
			  .schema = "Function",
			  .summary = "One function: its lines, who calls it and what it calls"},
	[WEB_SOURCE] = {"source", profile_query_source, JSON, .schema = "Source",
			.summary = "The text of a source file that frames of a selection name, and "
				   "its address at a forge"},
	[WEB_MATCHES] = {"matches", profile_query_matches, JSON, .has_stacks = true,
			 .schema = "Matches",
			 .summary = "The value of all stacks that contain a match of a search"},
	[WEB_PPROF] = {"pprof", profile_query_pprof, "application/octet-stream", .suffix = ".pb.gz",
		       .is_large = true, .has_stacks = true,
		       .summary = "All stacks as a gzipped pprof, for \"go tool pprof\""},
	[WEB_STACKS] = {"stacks", profile_query_stacks, JSON, .has_stacks = true,
			.schema = "Stacks",
			.summary = "The largest stacks, with lines and inlined calls"},
	[WEB_FOLDED] = {"folded", profile_query_folded, "text/plain; charset=utf-8",
			.suffix = ".folded.txt", .is_large = true, .has_stacks = true,
			.summary = "All stacks as lines \"root;leaf value\""},
	[WEB_SPEEDSCOPE] = {"speedscope", profile_query_speedscope, JSON,
			    .suffix = ".speedscope.json", .is_large = true, .has_stacks = true,
			    .schema = "Speedscope",
			    .summary = "All stacks as a file of speedscope"},
	[WEB_NOTES] = {"notes", profile_query_notes, JSON, .schema = "Notes",
		       .summary = "What readers wrote down about an application"},
	[WEB_NOTE_ADD] = {"notes", profile_query_note_add, JSON, .method = "POST",
			  .takes_text = true, .schema = "Note",
			  .summary = "Writes a note, or saves a view of the page; the body is its "
				     "text"},
	[WEB_NOTE_DELETE] = {"notes", profile_query_note_delete, JSON, .method = "DELETE",
			     .schema = "Empty", .summary = "Deletes a note, or a snapshot"},
	[WEB_SNAPSHOT] = {"snapshot", profile_query_snapshot, "application/octet-stream",
			  .suffix = ".pb.gz", .is_large = true,
			  .summary = "The flame graph of a snapshot as a gzipped pprof"},
	[WEB_SNAPSHOT_ADD] = {"snapshots", profile_query_snapshot_add, JSON, .method = "POST",
			      .takes_text = true, .is_large = true, .has_stacks = true,
			      .schema = "Note",
			      .summary = "Keeps the flame graph of a selection beyond the time to "
					 "live of its profiles; the body is a text about it"},
};
