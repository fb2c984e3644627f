#include "common/pprof/profile_losses.h"

static const struct {
	const char *one, *many;
} losses[PROFILE_LOSS_MAX] = {
	[PROFILE_LOSS_BROKEN_SAMPLES] =
		{"sample left out: it refers to something that does not exist",
		 "samples left out: they refer to something that does not exist"},
	[PROFILE_LOSS_BROKEN_NAMES] = {"name or file left out: it does not exist",
				       "names or files left out: they do not exist"},
	[PROFILE_LOSS_CUT_STACKS] = {"stack cut: too many frames", "stacks cut: too many frames"},
	[PROFILE_LOSS_CUT_LOCATIONS] = {"location cut: too many inlined calls",
					"locations cut: too many inlined calls"},
	[PROFILE_LOSS_CUT_STRINGS] = {"string cut: too long", "strings cut: too long"},
	[PROFILE_LOSS_NEGATIVE_VALUES] = {"negative value counted as 0",
					  "negative values counted as 0"},
	[PROFILE_LOSS_CLAMPED_VALUES] = {"value beyond 63 bits counted as the largest one",
					 "values beyond 63 bits counted as the largest one"},
	[PROFILE_LOSS_BAD_TIMES] = {"impossible time or duration ignored",
				    "impossible times or durations ignored"},
	[PROFILE_LOSS_BROKEN_LINES] = {"line left out: it cannot be read",
				       "lines left out: they cannot be read"},
	[PROFILE_LOSS_OTHER_EVENTS] = {"event left out: events of its kind become no profile",
				       "events left out: events of their kinds become no profile"},
	[PROFILE_LOSS_OTHER_TYPES] = {"sample type left out", "sample types left out"},
};

bool profile_losses_any(const struct profile_losses *l)
{
	for (size_t i = 0; i < PROFILE_LOSS_MAX; i++) {
		if (l->n[i] > 0)
			return true;
	}
	return false;
}

void profile_losses_add(struct profile_losses *l, const struct profile_losses *other)
{
	for (size_t i = 0; i < PROFILE_LOSS_MAX; i++)
		l->n[i] += other->n[i];
}

void profile_losses_text(const struct profile_losses *l, char *text, size_t size)
{
	size_t len = 0;

	if (size > 0)
		text[0] = '\0';
	for (size_t i = 0; i < PROFILE_LOSS_MAX && len < size; i++) {
		if (l->n[i] == 0)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%llu %s", len > 0 ? "; " : "",
					(unsigned long long)l->n[i],
					l->n[i] == 1 ? losses[i].one : losses[i].many);
	}
}
