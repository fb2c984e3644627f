#include "cluster-agent/pyroscope/querier_methods.h"

#include "proto/querier.pb-c.h"

#define QUERIER "/querier.v1.QuerierService/"

static const struct querier_method methods[] = {
	{QUERIER "ProfileTypes", &querier__v1__profile_types_request__descriptor,
	 querier_profile_types, false, false},
	{QUERIER "LabelNames", &querier__v1__label_names_request__descriptor, querier_label_names,
	 false, false},
	{QUERIER "LabelValues", &querier__v1__label_values_request__descriptor,
	 querier_label_values, false, false},
	{QUERIER "Series", &querier__v1__series_request__descriptor, querier_series, false, false},
	{QUERIER "SelectSeries", &querier__v1__select_series_request__descriptor,
	 querier_select_series, false, false},
	{QUERIER "SelectHeatmap", &querier__v1__select_heatmap_request__descriptor,
	 querier_select_heatmap, false, false},
	{QUERIER "SelectMergeStacktraces",
	 &querier__v1__select_merge_stacktraces_request__descriptor, querier_select_stacktraces,
	 false, true},
	{QUERIER "SelectMergeSpanProfile",
	 &querier__v1__select_merge_span_profile_request__descriptor, querier_select_span_profile,
	 false, true},
	{QUERIER "SelectMergeProfile", &querier__v1__select_merge_profile_request__descriptor,
	 querier_select_profile, true, true},
	{QUERIER "Diff", &querier__v1__diff_request__descriptor, querier_diff, false, true},
	{QUERIER "GetProfileStats", &querier__v1__empty__descriptor, querier_profile_stats, false,
	 false},
	{"/settings.v1.SettingsService/Get", &querier__v1__empty__descriptor, querier_empty, false,
	 false},
	{"/capabilities.v1.FeatureFlagsService/GetFeatureFlags", &querier__v1__empty__descriptor,
	 querier_empty, false, false},
};

const struct querier_method *querier_methods(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(methods);
	return methods;
}

const struct querier_method *querier_method_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].path, path) == 0)
			return &methods[i];
	return NULL;
}
