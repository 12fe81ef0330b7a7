// SPDX-License-Identifier: GPL-2.0-only
/* Compares what `capture` states, except its window, with the case. */
#include "harness/outcome/checks.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "harness/base/number.h"
#include "harness/base/untrusted_file.h"

/* Returns the value of @option ("--freq=") in the capture options of the case; NULL: not set, so
 * the default applies. */
static const char *find_option(const struct jp_case *cas, const char *option)
{
	const size_t length = strlen(option);

	for (int i = 1; i < cas->capture_argc; i++)
		if (strncmp(cas->capture_argv[i], option, length) == 0)
			return cas->capture_argv[i] + length;
	return NULL;
}

/* Returns whether our capture recorded the case. For other profilers, their adapters wrote the file
 * `capture` (docs/profiler-adapters.md). Looks into the case, because `capture` may be wrong. */
static bool is_own_capture(const struct jp_case *cas)
{
	const char *policy = cas->capture_argc ? cas->capture_argv[0] : "";
	const size_t length = strlen(policy);

	return jp_registry_find(JP_CAPTURE, policy) &&
	       (length < 3 || strcmp(policy + length - 3, "-by") != 0);
}

static void check_number(struct jp_result *result, const char *option, const char *key,
			 uint64_t stated_value)
{
	const char *text = find_option(result->cas, option);
	uint64_t requested_value;

	if (text && jp_number(text, 0, UINT64_MAX, &requested_value) &&
	    requested_value != stated_value)
		jp_note(result, JP_ERROR,
			"the capture states %s %" PRIu64 "; the case asks for %" PRIu64, key,
			stated_value, requested_value);
}

static void check_text(struct jp_result *result, const char *key, const char *stated,
		       const char *requested)
{
	if (strcmp(stated, requested) != 0)
		jp_note(result, JP_ERROR, "the capture states %s %s; the case asks for %s", key,
			stated, requested);
}

static bool publishes(const char *publisher)
{
	return publisher && strcmp(publisher, "none") != 0;
}

static bool is_published(const char *name)
{
	return fnmatch("perf-*.map", name, 0) == 0 || fnmatch("jit-*.dump", name, 0) == 0;
}

/* Reports a perf map or jitdump in the case's folder if the case publishes nothing. */
static void check_published_files(const struct jp_evidence *evidence, struct jp_result *result)
{
	const struct jp_case *cas = result->cas;
	jp_cleanup_arguments struct jp_arguments names = {0};
	struct jp_error err = {""};

	if (publishes(cas->publish) || publishes(jp_case_publish_children(cas)))
		return;
	if (jp_untrusted_list(evidence->dir, &names, is_published, &err))
		jp_note(result, JP_ERROR, "%s", err.text);
	else if (names.count)
		jp_note(result, JP_ERROR, "%s exists, but the case publishes nothing",
			names.list[0]);
}

void jp_check_stated(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		     const char *environment, struct jp_result *result)
{
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_case *cas = result->cas;

	jp_check_environment(evidence, file, environment, result);
	/* Earlier runs state fewer keys. */
	if (!evidence->watched.silent)
		return;
	if (!is_own_capture(cas)) {
		jp_check_features(file, false, result);
		return;
	}
	if (info->absent) {
		jp_note(result, JP_ERROR, "the capture lacks %s, which jitproof's captures state",
			info->absent);
		return;
	}
	jp_check_figures(evidence, file, result);
	check_published_files(evidence, result);
	check_number(result, "--freq=", "frequency_asked", info->frequency_asked);
	check_number(result, "--stack=", "stack_dump", info->stack_dump);
	if (find_option(cas, "--synth="))
		check_text(result, "policy", info->policy, find_option(cas, "--synth="));
	if ((evidence->watched.chain != 0) == (find_option(cas, "--no-chain") != NULL))
		jp_note(result, JP_ERROR,
			"the runner requested callchains %" PRIu64 "; the case requires the "
			"opposite",
			evidence->watched.chain);
	check_text(result, "capture", info->capture, cas->capture_argv[0]);
	check_text(result, "order", info->order, find_option(cas, "--order=") ?: "enable-first");
	check_text(result, "event", info->event,
		   find_option(cas, "--task-clock") ? "task-clock" : "cpu-clock");
	if (find_option(cas, info->kernel ? "--user-only" : "--kernel"))
		jp_note(result, JP_ERROR,
			"the capture states that it %s the kernel; the case requires the opposite",
			info->kernel ? "sampled" : "did not sample");
}
