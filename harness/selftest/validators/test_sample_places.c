// SPDX-License-Identifier: GPL-2.0-only
/* Tests samples where no memory of the workload is executable: those of a process that another
 * program forked do not count if it calls exec later. */
#include "harness/judge/validator.h"
#include "harness/selftest/support/check.h"

enum { OTHER = 3, PID = 5, IP = 0x1000 };

/* What the capture states about the process PID. */
struct recorded_process {
	uint32_t ppid; /* its parent; 0: no record of a fork */
	bool exec;     /* it calls exec after its sample */
	bool sampled_again;
};

static int take_sample(struct jp_view *view, const struct jp_validator *places)
{
	const struct jp_observed observed = {0};
	const struct jp_event sample = {.type = JP_EVENT_SAMPLE,
					.pid = PID,
					.tid = PID,
					.observed = &observed,
					.sample = {.user = true, .ip = IP}};

	return places->handle(view, &sample);
}

/* Returns how many samples are nowhere. */
static uint64_t count_nowhere(const struct recorded_process *recorded)
{
	const struct jp_validator *places = jp_registry_find(JP_VALIDATOR, "sample_places");
	struct jp_truth_incarnation incarnation = {.pid = PID, .until = UINT64_MAX};
	struct jp_truth truth = {.incarnations = &incarnation, .nr_incarnations = 1};
	const struct jp_evidence evidence = {.truth = &truth};
	const struct jp_event fork = {
		.type = JP_EVENT_FORK, .pid = PID, .tid = PID, .task.ppid = recorded->ppid};
	const struct jp_event exec = {
		.type = JP_EVENT_COMM, .pid = PID, .tid = PID, .comm = {"workload", true}};
	struct jp_error err = {""};
	struct jp_view view = {.evidence = &evidence,
			       .machine = jp_machine_named("x86_64"),
			       .state = calloc(1, places->state_size)};
	uint64_t result;
	int failed = !view.state;

	if (!failed && recorded->ppid)
		failed |= places->handle(&view, &fork);
	failed |= take_sample(&view, places);
	if (recorded->exec)
		failed |= places->handle(&view, &exec);
	if (recorded->sampled_again)
		failed |= take_sample(&view, places);
	failed |= places->end(&view, &err);
	check(!failed && view.findings.nr_metrics, "there is a figure");
	result = view.findings.metrics[0].k;
	jp_findings_free(&view.findings);
	places->free(view.state);
	free(view.state);
	return result;
}

TEST(sample_places)
{
	check(count_nowhere(&(struct recorded_process){0}) == 1,
	      "a sample of an unforked process counts");
	check(count_nowhere(&(struct recorded_process){.ppid = OTHER}) == 1,
	      "a sample of a process that never calls exec counts");
	check(count_nowhere(&(struct recorded_process){.ppid = PID, .exec = true}) == 1,
	      "a sample of a process that the workload forked counts");
	check(count_nowhere(&(struct recorded_process){.ppid = OTHER, .exec = true}) == 0,
	      "a sample before the exec of a process of another program does not count");
	check(count_nowhere(&(struct recorded_process){OTHER, true, true}) == 1,
	      "a sample after the exec counts");
}
