// SPDX-License-Identifier: GPL-2.0-only
/* Tests two samples of one event: whether perf wrote the record twice. */
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "harness/selftest/support/check.h"

/* Checks that @cause is the cause of the second sample, whose record is @distance bytes behind the
 * end of the first. */
static void check_cause(const struct jp_perfdata_summary *summary, uint64_t distance, bool is_equal,
			const char *cause)
{
	const struct jp_validator *doubles = jp_registry_find(JP_VALIDATOR, "sample_doubles");
	const struct jp_perf_record record = {.size = sizeof(record)};
	struct jp_event sample = {
		.type = JP_EVENT_SAMPLE, .time = 7, .tid = 5, .file_offset = 64, .record = &record};
	struct jp_view view = {.summary = summary, .state = calloc(1, doubles->state_size)};

	check(view.state && !doubles->handle(&view, &sample), "the first sample is taken");
	sample.file_offset += sizeof(record) + distance;
	sample.sample.ip += !is_equal;
	check(!doubles->handle(&view, &sample) && view.findings.nr_exceptions == 1 &&
		      strcmp(view.findings.exceptions[0].cause, cause) == 0,
	      "the second sample is %s", cause);
	jp_findings_free(&view.findings);
	doubles->free(view.state);
	free(view.state);
}

TEST(sample_doubles)
{
	const struct jp_perfdata_summary file = {0}, folder = {.in_parts = true};

	check_cause(&file, 8, true, "written-twice");
	check_cause(&file, 8, false, "double");
	check_cause(&file, 0, true, "double");
	check_cause(&folder, 0, true, "written-twice");
	check_cause(&folder, 0, false, "double");
}
