// SPDX-License-Identifier: GPL-2.0-only
/* The window that a capture states, compared with the runner's observations and the samples. */
#include "harness/outcome/checks.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { STARTED = 1000, BEGUN = 1100, ENDING = 1900, ENDED = 2000, CPUS = 2, SLACK = 10 };

static const struct jp_watched_info watched = {.started = STARTED,
					       .sampling_since = BEGUN,
					       .ending = ENDING,
					       .ended = ENDED,
					       .slack = SLACK,
					       .cpus = CPUS};
static const struct jp_capture_info right = {.policy = "none",
					     .slack = SLACK,
					     .first_enabled = STARTED,
					     .enabled = BEGUN,
					     .sampling = BEGUN,
					     .stopped = ENDING,
					     .cpus = CPUS,
					     .counted = CPUS * (ENDED - STARTED)};

static bool is_refused(struct jp_capture_info info)
{
	const struct jp_evidence evidence = {.info = info, .watched = watched};
	struct jp_result result = {.outcome = JP_PASS};

	jp_check_window(&evidence, &result);
	return result.outcome == JP_ERROR;
}

TEST(stated_window)
{
	static const struct {
		const char *label;
		size_t offset;
		uint64_t least, expects_most;
	} rows[] = {
		{"first enabled", offsetof(struct jp_capture_info, first_enabled), STARTED, BEGUN},
		{"enabled", offsetof(struct jp_capture_info, enabled), STARTED, BEGUN},
		{"sampling", offsetof(struct jp_capture_info, sampling), STARTED, BEGUN},
		{"stopped", offsetof(struct jp_capture_info, stopped), ENDING, ENDED},
		{"slack", offsetof(struct jp_capture_info, slack), SLACK, SLACK},
		{"counted", offsetof(struct jp_capture_info, counted), 0, CPUS * (ENDED - STARTED)},
	};

	check(!is_refused(right), "a window that the runner observed is accepted");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_capture_info info = right;
		uint64_t *const value = (void *)((char *)&info + rows[i].offset);

		*value = rows[i].least;
		check(!is_refused(info), "%s: the least value is accepted", rows[i].label);
		*value = rows[i].expects_most;
		check(!is_refused(info), "%s: the greatest value is accepted", rows[i].label);
		*value = rows[i].expects_most + 1;
		check(is_refused(info), "%s: a greater value is refused", rows[i].label);
		*value = rows[i].least - 1;
		check(!rows[i].least || is_refused(info), "%s: less is refused", rows[i].label);
	}
}

/* Judges @count samples: one at @right_time, the others at @time. Returns whether they are refused.
 */
static bool are_samples_refused(const struct jp_evidence *evidence, uint64_t right_time,
				uint64_t time, size_t count)
{
	const struct jp_event events[] = {MADE_EVENT(SAMPLE, 9, right_time),
					  MADE_EVENT(SAMPLE, 9, time), MADE_EVENT(SAMPLE, 9, time)};

	judge("window", evidence, events, count, "window.samples");
	return *judged_error;
}

/* Besides one valid sample, each row has a sample at a possible or impossible time. */
TEST(sample_times)
{
	enum { HOUR = 3600 };
	const uint64_t second = 1000000000, enabled_time = HOUR * second,
		       disabled_time = 2 * enabled_time;
	struct jp_truth truth = {.version = 3};
	const struct jp_evidence evidence = {.truth = &truth,
					     .info = {.slack = SLACK,
						      .first_enabled = enabled_time,
						      .enabled = enabled_time,
						      .sampling = enabled_time,
						      .stopped = disabled_time},
					     .watched = {.started = second,
							 .sampling_since = enabled_time,
							 .ending = disabled_time,
							 .ended = disabled_time + second,
							 .silent = disabled_time}};
	const struct {
		const char *label;
		uint64_t time;
		bool expects_never;
	} rows[] = {
		{"before anything was enabled", enabled_time - SLACK - 1, true},
		{"while events were enabled", enabled_time - SLACK, false},
		{"while events were disabled", disabled_time + SLACK, false},
		{"after that", disabled_time + SLACK + 1, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(are_samples_refused(&evidence, enabled_time + second, rows[i].time, 2) ==
			      rows[i].expects_never,
		      "a sample %s: %s", rows[i].label, judged_error);
}

TEST(samples_outside)
{
	struct jp_truth truth = {.version = 3};
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.enabled = 2000, .sampling = 2000, .stopped = 3000, .slack = SLACK},
		.watched = {.started = 1000,
			    .sampling_since = 2100,
			    .ending = 2900,
			    .ended = 5000,
			    .silent = 4000},
	};

	check(!are_samples_refused(&evidence, 2500, 1500, 3),
	      "two of three samples while the capture is started: %s", judged_error);
	check(!are_samples_refused(&evidence, 2500, 3500, 3),
	      "two of three samples while the capture is stopped: %s", judged_error);
	check(are_samples_refused(&evidence, 2500, 4500, 3), "two of three samples after that: %s",
	      judged_error);
}
