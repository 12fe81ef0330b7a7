// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/cases.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/registry.h"
#include "harness/capture/capture.h"
#include "harness/model/unwind/methods.h"
#include "workloads/emit/workload.h"

/* Checks that @capture with @options records what each method of @cas reads. @is_foreign: it also
 * has options that we do not know, which may ask for stack dumps. */
static int check_methods(const struct jp_case *cas, const struct jp_capture *capture,
			 const struct jp_capture_options *options, bool is_foreign,
			 struct jp_error *err)
{
	const bool is_external = capture->traits & JP_CAPTURE_EXTERNAL;
	const bool chain = options->chain && !(is_external && options->stack);
	const bool dump = is_foreign || options->stack;

	for (enum jp_method method = 0; method < JP_METHODS; method++)
		if (cas->methods >> method & 1 && !(method == JP_CHAIN ? chain : dump))
			return jp_fail(err, EINVAL, "%s:%u: methods '%s' needs %s", cas->file,
				       cas->line, jp_method_name(method),
				       method != JP_CHAIN ? "stack dumps, by --stack"
				       : is_external
					       ? "callchains; with --stack, profilers take none"
					       : "callchains, without --no-chain");
	return 0;
}

/* Checks the options common to all captures. The capture checks its own options when the case
 * runs. */
static int check_options(const struct jp_case *cas, const struct jp_capture *capture,
			 struct jp_error *err)
{
	struct jp_capture_options options = jp_capture_defaults();
	struct jp_error detail = {""};
	bool is_foreign = false;

	for (int i = 1; i < cas->capture_argc; i++) {
		const int is_known = jp_capture_option(&options, cas->capture_argv[i], &detail);

		if (is_known < 0)
			return jp_fail(err, EINVAL, "%s:%u: %s", cas->file, cas->line, detail.text);
		/* The first argument of an external capture is the profiler's name. */
		is_foreign |= !is_known && i > 1 && capture->traits & JP_CAPTURE_EXTERNAL;
	}
	if (options.system_wide)
		return jp_fail(err, EINVAL,
			       "%s:%u: expected no --system-wide: a case watches only "
			       "its own workload",
			       cas->file, cas->line);
	if (options.all_maps && capture->traits & JP_CAPTURE_EXTERNAL)
		return jp_fail(err, EINVAL, "%s:%u: the profiler %s cannot take --all-maps",
			       cas->file, cas->line, capture->name);
	if (options.synth != JP_SYNTH_EXEC && capture->traits & JP_CAPTURE_EXTERNAL)
		return jp_fail(err, EINVAL,
			       "%s:%u: the profiler %s cannot take --synth=%s: it records exec",
			       cas->file, cas->line, capture->name, jp_synth_text(options.synth));
	if (options.need_kernel && !options.kernel)
		return jp_fail(err, EINVAL, "%s:%u: --kernel contradicts --user-only", cas->file,
			       cas->line);
	if (options.need_kernel && capture->traits & JP_CAPTURE_USER)
		return jp_fail(err, EINVAL,
			       "%s:%u: expected no --kernel: %s takes no samples in the kernel",
			       cas->file, cas->line, capture->name);
	if (!options.chain && !options.stack)
		return jp_fail(err, EINVAL, "%s:%u: --no-chain without --stack leaves no stacks",
			       cas->file, cas->line);
	return check_methods(cas, capture, &options, is_foreign, err);
}

/* Returns whether the workload of @cas announces intervals to a gated capture: such a workload has
 * an option --gate. */
static bool announces_intervals(const struct jp_case *cas)
{
	const struct jp_workload *workload = jp_registry_find(JP_WORKLOAD, cas->workload_argv[0]);
	const struct jp_option *option = workload->options;

	while (option && (option->name || option->help || option->get_more)) {
		if (option->name && strcmp(option->name, "--gate") == 0)
			return true;
		option++;
	}
	return false;
}

static int check_intervals(const struct jp_case *cas, const struct jp_capture *capture,
			   struct jp_error *err)
{
	if (!(capture->traits & JP_CAPTURE_GATED) || announces_intervals(cas))
		return 0;
	return jp_fail(err, EINVAL,
		       "%s:%u: %s needs a workload that announces intervals, with an option --gate",
		       cas->file, cas->line, capture->name);
}

static int check_boundary(const struct jp_case *cas, const struct jp_capture *capture,
			  struct jp_error *err)
{
	const char *const *boundary = capture->boundaries;
	char boundaries_text[400] = "";
	size_t length = 0;

	if (!cas->step.boundary)
		return 0;
	for (; boundary && *boundary; boundary++) {
		if (strcmp(*boundary, cas->step.boundary) == 0)
			return 0;
		if (length < sizeof(boundaries_text))
			length += (size_t)snprintf(boundaries_text + length,
						   sizeof(boundaries_text) - length, "%s%s",
						   !length       ? "the boundary "
						   : boundary[1] ? ", "
								 : " or ",
						   *boundary);
	}
	return jp_fail(err, EINVAL, "%s:%u: at '%s:%s'; expected BOUNDARY:STEP, %s", cas->file,
		       cas->line, cas->step.boundary, cas->step.command,
		       *boundaries_text ? boundaries_text : "and a capture that has boundaries");
}

static int check_publisher(const struct jp_case *cas, struct jp_error *err)
{
	char known[200];

	if (!cas->publish || jp_publish_is_valid(cas->publish, known, sizeof(known)))
		return 0;
	return jp_fail(err, EINVAL, "%s:%u: publish '%s'; expected %s, maybe with :FAULT",
		       cas->file, cas->line, cas->publish, known);
}

/* Checks that this binary has an entry of @kind called @name. @noun: word for the kind in
 * messages. */
static int check_registered_name(const struct jp_case *cas, enum jp_kind kind, const char *noun,
				 const char *name, struct jp_error *err)
{
	char hint[120];

	if (!name || jp_registry_find(kind, name))
		return 0;
	return jp_fail(err, EINVAL, "%s:%u: no %s '%s'%s", cas->file, cas->line, noun, name,
		       jp_registry_hint(kind, name, hint, sizeof(hint)));
}

static int check_case(const struct jp_case *cas, struct jp_error *err)
{
	const char *const capture = cas->capture_argv[0];

	return check_registered_name(cas, JP_WORKLOAD, "workload", cas->workload_argv[0], err)
		       ?: check_registered_name(cas, JP_CAPTURE, "capture", capture, err)
		       ?: check_registered_name(cas, JP_CONTROL, "control", cas->control, err)
		       ?: check_options(cas, jp_registry_find(JP_CAPTURE, capture), err)
		       ?: check_boundary(cas, jp_registry_find(JP_CAPTURE, capture), err)
		       ?: check_intervals(cas, jp_registry_find(JP_CAPTURE, capture), err)
		       ?: check_publisher(cas, err);
}

struct jp_cases *jp_cases_load(const char *dir, struct jp_error *err)
{
	struct jp_cases *cases = jp_cases_read(dir, err);
	int ret = 0;

	for (size_t i = 0; cases && i < cases->nr_cases && !ret; i++)
		ret = check_case(&cases->cases[i], err);
	if (!ret)
		return cases;
	jp_cases_free(cases);
	return NULL;
}
