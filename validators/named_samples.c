// SPDX-License-Identifier: GPL-2.0-only
#include "validators/named_samples.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/sort.h"

const char *const jp_named_text[JP_NAMES] = {"wrong", "unnamed", "right"};

int jp_named_samples_add(struct jp_named_samples *samples, const struct jp_named_sample *sample)
{
	return jp_array_append(&samples->samples, &samples->count, &samples->capacity, *sample);
}

void jp_named_samples_free(struct jp_named_samples *samples)
{
	free(samples->samples);
}

JP_ORDER(compare_by_sample, struct jp_named_sample,
	 jp_compare(a->time, b->time)
		 ?: jp_compare(a->tid, b->tid)
		 ?: jp_compare(a->cpu, b->cpu)
		 ?: jp_compare(a->ip, b->ip));

static void sort_samples(struct jp_named_samples *samples)
{
	jp_sort(samples->samples, samples->count, compare_by_sample);
}

static int report_lost_sample(struct jp_findings *findings, struct jp_names_change *change,
			      const struct jp_named_sample *sample, const char *cause)
{
	change->nr_lost++;
	return jp_findings_count_failure(findings, "inject.lost", cause,
					 "sample at %" PRIu64 ", %u/%u, ip %" PRIx64, sample->time,
					 sample->pid, sample->tid, sample->ip);
}

static int report_worse_name(struct jp_findings *findings,
			     const struct jp_incarnations *incarnations,
			     const struct jp_named_sample *old_sample,
			     const struct jp_named_sample *new_sample)
{
	static const char *const causes[JP_NAMES] = {"was-wrong", "was-unnamed", "was-right"};

	return jp_findings_count_failure(findings, "inject.worse", causes[old_sample->class],
					 "at %" PRIu64 ", %u/%u, ip %" PRIx64 " in %s: %s now",
					 new_sample->time, new_sample->pid, new_sample->tid,
					 new_sample->ip,
					 jp_incarnations_find_at(incarnations, new_sample->pid,
								 new_sample->ip, new_sample->time)
						 ->code->name,
					 jp_named_text[new_sample->class]);
}

int jp_names_compare_around_inject(struct jp_named_samples *before, struct jp_named_samples *after,
				   const struct jp_incarnations *incarnations,
				   struct jp_findings *findings, struct jp_names_change *change)
{
	size_t i = 0, j = 0;
	int failed = 0;

	sort_samples(before);
	sort_samples(after);
	while (!failed && (i < before->count || j < after->count)) {
		const struct jp_named_sample *old_sample = &before->samples[i],
					     *new_sample = &after->samples[j];
		int direction = i == before->count  ? 1
				: j == after->count ? -1
						    : compare_by_sample(old_sample, new_sample);

		if (direction) {
			failed = direction < 0 ? report_lost_sample(findings, change, old_sample,
								    "dropped")
					       : report_lost_sample(findings, change, new_sample,
								    "invented");
			i += direction < 0;
			j += direction > 0;
			continue;
		}
		change->nr_in_both++;
		change->covered += old_sample->covered;
		change->covered_bad += old_sample->covered && new_sample->class != JP_NAME_RIGHT;
		change->nr_better += new_sample->class > old_sample->class;
		if (new_sample->class < old_sample->class) {
			change->nr_worse++;
			failed = report_worse_name(findings, incarnations, old_sample, new_sample);
		}
		i++;
		j++;
	}
	return failed;
}
