// SPDX-License-Identifier: GPL-2.0-only
/* Tests samples where no memory of the workload is executable: those of a process that another
 * program forked do not count if it calls exec later. */
#include "harness/judge/validator.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"

enum { OTHER = 3, PID = 5, IP = 0x1000 };

/* What the capture states about the process PID. */
struct recorded_process {
	uint32_t ppid; /* its parent; 0: no record of a fork */
	bool exec;     /* it calls exec after its sample */
	bool sampled_again;
};

/* Returns how many samples are nowhere. */
static uint64_t count_nowhere(const struct recorded_process *recorded)
{
	static const struct jp_observed observed = {0};
	static const struct jp_event sample = {.type = JP_EVENT_SAMPLE,
					       .pid = PID,
					       .tid = PID,
					       .observed = &observed,
					       .sample = {.user = true, .ip = IP}};
	struct jp_truth_incarnation incarnation = {.pid = PID, .until = UINT64_MAX};
	struct jp_truth truth = {.version = JP_TRUTH_VERSION_MAPS,
				 .incarnations = &incarnation,
				 .nr_incarnations = 1};
	const struct jp_evidence evidence = {.truth = &truth};
	struct jp_event events[4];
	size_t count = 0;

	if (recorded->ppid)
		events[count++] = (struct jp_event){
			.type = JP_EVENT_FORK, .pid = PID, .tid = PID, .task.ppid = recorded->ppid};
	events[count++] = sample;
	if (recorded->exec)
		events[count++] = (struct jp_event){
			.type = JP_EVENT_COMM, .pid = PID, .tid = PID, .comm = {"workload", true}};
	if (recorded->sampled_again)
		events[count++] = sample;
	return judge("sample_places", &evidence, events, count, "samples.nowhere").k;
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
