#include "common/pprof/pprof_encode.h"

#include "common/pprof/pprof_writer.h"

static void put_all(struct pprof_writer *w, const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_types; i++)
		pprof_writer_put_type(w, &p->types[i]);
	for (uint32_t i = 0; i < p->n_samples; i++)
		pprof_writer_put_sample(w, &p->samples[i], p->n_types);
	for (uint32_t i = 0; i < p->n_mappings; i++)
		pprof_writer_put_mapping(w, i, &p->mappings[i]);
	for (uint32_t i = 0; i < p->n_locations; i++)
		pprof_writer_put_location(w, &p->locations[i]);
	for (uint32_t i = 0; i < p->n_functions; i++)
		pprof_writer_put_function(w, &p->functions[i]);
	for (uint32_t i = 0; i < p->n_comments; i++)
		pprof_writer_put_comment(w, &p->comments[i]);
}

int pprof_encode(const struct profile *p, struct buf *out)
{
	const struct pprof_times times = {&p->period_type, p->period, p->time_ns, p->duration_ns};
	CLEANUP(pprof_writer_freep) struct pprof_writer *w = NULL;
	int r;

	r = pprof_writer_new(&w, PPROF_LEVEL_SMALL, out);
	if (r < 0)
		return r;
	put_all(w, p);
	return pprof_writer_finish(w, &times);
}
