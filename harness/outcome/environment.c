// SPDX-License-Identifier: GPL-2.0-only
/* Compares the descriptions of the machine: by the runner in env.json and `watched`, by the capture
 * in perf.data, and by the workload in the truth. All must agree. */
#include "harness/outcome/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/format/perfdata/machine.h"

enum {
	WHOLE = 1,  /* from this format on `watched` has all keys */
	CLOCKS = 2, /* from this format on env.json states whether clocks count */
	WITNESS = 3 /* from this format on there is a witness, or the reason for none */
};

static uint64_t read_number(const char *environment, const char *key)
{
	const char *const path[] = {key, NULL};
	uint64_t number;

	return jp_json_find_number(environment, path, &number) ? number : 0;
}

/* Compares the value of one key with @recorded, that of another file. @recorded "": the other file
 * does not state it. */
static void check_text(struct jp_result *result, const char *environment, const char *key,
		       const char *place_text, const char *recorded)
{
	const char *const path[] = {key, NULL};
	char stated[128];

	if (*recorded && jp_json_find(environment, path, stated, sizeof(stated)) &&
	    strcmp(stated, recorded) != 0)
		jp_note(result, JP_ERROR, "env.json states %s %s, %s %s", key, stated, place_text,
			recorded);
}

/* Compares env.json with the capture's description of the machine in perf.data. */
static void check_file(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		       const char *environment, struct jp_result *result)
{
	const struct jp_watched_info *watched = &evidence->watched;
	const uint64_t cpus = read_number(environment, "cpus");

	check_text(result, environment, "kernel", "perf.data", file->release);
	check_text(result, environment, "machine", "perf.data", file->arch);
	if (cpus && file->cpus_on && cpus != file->cpus_on)
		jp_note(result, JP_ERROR, "env.json states %" PRIu64 " CPUs, perf.data %" PRIu32,
			cpus, file->cpus_on);
	if (file->cpus && (watched->cpus > file->cpus || evidence->info.cpus > file->cpus))
		jp_note(result, JP_ERROR,
			"the runner saw %" PRIu64 " CPUs, the capture states %" PRIu64 "; by "
			"perf.data the machine has %u",
			watched->cpus, evidence->info.cpus, file->cpus);
}

/* Returns the name of the machine whose kernel runs programs of machine @e_machine. "": unknown. */
static const char *name_kernel(uint32_t e_machine)
{
	const struct jp_machine *machine = jp_machine_find(e_machine);

	if (machine && machine->kernel)
		machine = jp_machine_find(machine->kernel);
	return machine ? machine->name : "";
}

static void check_runner(const struct jp_evidence *evidence, const char *environment,
			 struct jp_result *result)
{
	const struct jp_watched_info *watched = &evidence->watched;
	char limit_text[32];

	if (read_number(environment, "format") >= WHOLE && (!watched->silent || !watched->cpus))
		jp_note(result, JP_ERROR,
			"the file `watched` lacks %s, which the runner states since format %d",
			watched->cpus ? "silent" : "cpus", WHOLE);
	if (read_number(environment, "format") >= WITNESS && !watched->witness_since &&
	    !*evidence->witnessed.denied)
		jp_note(result, JP_ERROR,
			"the file `watched` lacks witness_since, which the runner states since "
			"format %d",
			WITNESS);
	check_text(result, environment, "machine", "the truth",
		   name_kernel(evidence->truth->e_machine));
	snprintf(limit_text, sizeof(limit_text), "%" PRIu64, watched->max_stack);
	check_text(result, environment, "perf_event_max_stack", "the runner", limit_text);
}

/* Checks that the events of a capture with samples counted, too, unless the kernel's clock events
 * do not count (env.json states that). */
static void check_event_was_counted(const struct jp_capture_info *info, const char *environment,
				    struct jp_result *result)
{
	static const char *const path[] = {"clocks_count", NULL};
	const bool is_own = info->first_enabled != 0;
	char counts[8];

	if (read_number(environment, "format") < CLOCKS)
		return;
	if (!jp_json_find(environment, path, counts, sizeof(counts)))
		jp_note(result, JP_ERROR,
			"env.json lacks clocks_count, which the runner states since format %d",
			CLOCKS);
	else if (is_own && info->samples && !info->counted && strcmp(counts, "no") != 0)
		jp_note(result, JP_ERROR,
			"the capture states %" PRIu64 " samples, and events that counted no time; "
			"env.json states that clocks count",
			info->samples);
}

void jp_check_environment(const struct jp_evidence *evidence,
			  const struct jp_perfdata_summary *file, const char *environment,
			  struct jp_result *result)
{
	if (!evidence->watched.started)
		return;
	if (!environment || !jp_json_is_object(environment)) {
		jp_note(result, JP_ERROR, "env.json: expected one JSON object");
		return;
	}
	check_runner(evidence, environment, result);
	check_event_was_counted(&evidence->info, environment, result);
	if (evidence->watched.silent)
		check_file(evidence, file, environment, result);
}
