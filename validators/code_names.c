// SPDX-License-Identifier: GPL-2.0-only
#include "validators/code_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct jp_code_name jp_code_name_at(const struct jp_naming *naming,
				    const struct jp_incarnation *incarnation, uint64_t ip)
{
	struct jp_code_name name = {.incarnation = incarnation,
				    .ip = ip,
				    .covered = ip >= incarnation->low && ip < incarnation->high};
	struct jp_name result;

	name.mapping = jp_replay_find(naming->view->spaces, incarnation->code->pid, ip);
	result = jp_names_find(naming->names, name.mapping, ip);
	name.recorded = result.text;
	name.source = result.source;
	if (!name.recorded)
		name.class = JP_NAME_NONE;
	else if (strcmp(name.recorded, incarnation->code->name) == 0)
		name.class = JP_NAME_RIGHT;
	else
		name.class = JP_NAME_WRONG;
	return name;
}

/* Returns the cause if the name is that of other code at the address: "stale" if that code was
 * loaded earlier, "later" if it was loaded later. Returns NULL if no such code has the name. */
static const char *find_time_cause(const struct jp_incarnations *incarnations,
				   const struct jp_code_name *name)
{
	const struct jp_truth_code *own_code = name->incarnation->code;

	for (size_t i = jp_incarnations_find_from(incarnations, own_code->pid, name->ip);
	     i < incarnations->count; i++) {
		const struct jp_truth_code *code = incarnations->incarnations[i].code;

		if (code->pid != own_code->pid || code->addr > name->ip)
			break;
		if (code != own_code && name->ip - code->addr < code->size &&
		    strcmp(code->name, name->recorded) == 0)
			return code->loaded < own_code->loaded ? "stale" : "later";
	}
	return NULL;
}

/* Returns whether a jitdump publishes code of the process whose code has the name. */
static bool has_loads(const struct jp_naming *naming, const struct jp_code_name *name)
{
	const struct jp_incarnations *incarnations = naming->incarnations;
	const uint32_t pid = name->incarnation->code->pid;

	for (size_t i = jp_incarnations_find_from(incarnations, pid, 0);
	     i < incarnations->count && incarnations->incarnations[i].code->pid == pid; i++)
		if (incarnations->incarnations[i].published_time != UINT64_MAX)
			return true;
	return false;
}

const char *jp_code_name_cause(const struct jp_naming *naming, const struct jp_code_name *name,
			       uint64_t time)
{
	bool is_injected = naming->view->asked->injected, by_dump = naming->loads->folder.count > 0,
	     injected;
	const char *cause = name->recorded ? find_time_cause(naming->incarnations, name) : NULL;

	if (cause)
		return cause;
	if (name->recorded &&
	    jp_incarnations_has_other(naming->incarnations, name->incarnation->code->pid,
				      name->recorded))
		return "wrong-owner";
	if (!name->mapping && jp_evidence_is_process_older(naming->view->evidence,
							   name->incarnation->code->pid, time))
		return "not-watched";
	/* perf inject keeps no anonymous mapping of a process with a jitdump, not even that of code
	 * which the jitdump lacks (results/FINDINGS.md, perf.inject-kept). */
	if (!name->mapping && is_injected && by_dump &&
	    name->incarnation->published_time == UINT64_MAX && has_loads(naming, name))
		return "not-published";
	if (!name->mapping)
		return jp_name_source_text[name->source];
	if (is_injected && name->covered)
		return "hidden";
	if (name->recorded)
		return "other-name";
	if (by_dump && name->incarnation->published_time == UINT64_MAX &&
	    (is_injected || name->source != JP_NAME_NOT_ANONYMOUS || has_loads(naming, name)))
		return "not-published";
	injected = jp_names_injected(naming->names, name->mapping);
	if (is_injected && by_dump && !injected)
		return name->incarnation->published_time > time ? "late" : "not-injected";
	/* A perf map that lacks the code does not publish it either. */
	return name->source == JP_NAME_NOT_IN_MAP && !injected ? "not-published"
							       : jp_name_source_text[name->source];
}

const char *jp_code_name_text(const struct jp_code_name *name, char *text, size_t size)
{
	const struct jp_truth_code *code = name->incarnation->code;
	const struct jp_hider *hider = &name->incarnation->hider;
	int length = snprintf(text, size, "%s+%#" PRIx64 ", loaded at %" PRIu64 ": %s%.60s (%s)",
			      code->name, name->ip - code->addr, code->loaded,
			      name->recorded ? "named " : "no name", name->recorded ?: "",
			      jp_name_source_text[name->source]);

	if (name->mapping && length >= 0 && (size_t)length < size)
		length += snprintf(text + length, size - (size_t)length,
				   ", in the mapping recorded at %" PRIu64 ": %.60s",
				   name->mapping->since, name->mapping->name);
	if (name->covered && length >= 0 && (size_t)length < size)
		snprintf(text + length, size - (size_t)length,
			 "; %" PRIx64 "-%" PRIx64 " %.40s of %" PRIu64 " (offset %" PRIu64
			 ", %s) hid it",
			 hider->start, hider->end, hider->name, hider->time, hider->file_offset,
			 hider->cause);
	return text;
}
