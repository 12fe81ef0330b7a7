// SPDX-License-Identifier: GPL-2.0-only
/* Tests samples whose stack dump and callchain give different callers: allowed for the last sample
 * before an exec or exit, an error elsewhere. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum {
	MANY = 12,
	PID = 9,
	OTHER,
	SP = 0x1000,
	IP = 0x400000,
	CALLER = 0x400100,
	WRITTEN = 0x400200
};
enum { DWARF_BP = 6, DWARF_SP = 7, DWARF_IP = 16 };

static const struct jp_event_asked asked = {.user_chain = true};
static struct jp_truth truth;
static const struct jp_evidence evidence = {.truth = &truth, .info = {.first_enabled = 1}};
/* The frame record: the next frame pointer, which ends the chain, and a return address. */
static const uint64_t dumps[2][2] = {{0, CALLER}, {0, WRITTEN}};
static const uint64_t chain[] = {JP_CONTEXT_USER, IP, CALLER};
static struct jp_regs regs = {.mask = 1 << DWARF_BP | 1 << DWARF_SP | 1 << DWARF_IP,
			      .r = {[DWARF_BP] = SP, [DWARF_SP] = SP, [DWARF_IP] = IP}};

static struct jp_event make_sample(uint64_t time, bool is_user, bool is_different)
{
	return (struct jp_event)MADE_EVENT(SAMPLE, PID, time, .asked = &asked,
					   .sample = {.user = is_user,
						      .ip = IP,
						      .regs = &regs,
						      .chain = chain,
						      .nr_chain = 3,
						      .stack = (const void *)dumps[is_different],
						      .stack_size = sizeof(*dumps)});
}

static void check_samples(const char *label, const struct jp_event *events, size_t count,
			  uint64_t nr_bad, uint64_t leaving)
{
	const struct jp_metric metric = judge("chain_dump", &evidence, events, count, "chain.dump");
	const uint64_t nr_leaving =
		judge("chain_dump", &evidence, events, count, "chain.leaving").k;
	uint64_t samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += events[i].type == JP_EVENT_SAMPLE;
	check(metric.k == nr_bad && metric.n == samples && exception_counts == nr_bad &&
		      nr_leaving == leaving,
	      "%s: %d samples differ, %d differ while leaving", label, (int)metric.k,
	      (int)nr_leaving);
}

TEST(chain_dump)
{
	const struct jp_event fork = MADE_EVENT(FORK, PID, 1, .task = {.ppid = 1});
	const struct jp_event present =
		MADE_EVENT(FORK, PID, 1, .task = {.ppid = 1, .was_running = true});
	const struct jp_event exec = MADE_EVENT(COMM, PID, 8, .comm = {.name = "x", .exec = true});
	const struct jp_event named = MADE_EVENT(COMM, PID, 8, .comm = {.name = "x"});
	const struct jp_event removed = MADE_EVENT(EXIT, PID, 8, .task = {.ppid = 1});
	const struct jp_event right = make_sample(6, false, false),
			      wrong = make_sample(6, false, true);
	const struct jp_event user = make_sample(6, true, true);
	struct jp_event thread = wrong, others_sample = exec, neighbour = fork, many[2 * MANY];

	regs.machine = jp_machine_find(EM_X86_64);
	thread.tid = OTHER;
	others_sample.pid = others_sample.tid = OTHER;
	neighbour.tid = OTHER;
	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = fork;
		many[MANY + i] = wrong;
		many[i].pid = many[i].tid = many[MANY + i].pid = many[MANY + i].tid = PID + i;
	}
#define JUDGED(what, bad, left, ...)                                                               \
	check_samples(what, (const struct jp_event[]){__VA_ARGS__},                                \
		      sizeof((const struct jp_event[]){__VA_ARGS__}) / sizeof(struct jp_event),    \
		      bad, left)
	JUDGED("dump and callchain agree", 0, 0, fork, right, exec);
	JUDGED("the last sample before an exec", 0, 1, fork, wrong, exec);
	JUDGED("the last sample before an exit", 0, 1, fork, right, wrong, removed);
	JUDGED("a sample in user code", 1, 0, fork, user, exec);
	JUDGED("another thread's sample", 1, 0, fork, thread, exec);
	JUDGED("not the last sample", 1, 0, fork, wrong, right, exec);
	JUDGED("the first of two samples", 1, 1, fork, wrong, wrong, exec);
	JUDGED("a new name without an exec", 1, 0, fork, wrong, named);
	JUDGED("another process's exec", 1, 0, fork, wrong, others_sample);
	JUDGED("a sample after the exec", 1, 0, fork, exec, wrong, removed);
	JUDGED("a process whose fork was not recorded", 1, 0, wrong, exec);
	JUDGED("a process that existed before", 1, 0, present, wrong, exec);
	JUDGED("an exec of the pid's next process", 1, 0, fork, wrong, fork, right, exec);
	JUDGED("only a thread's fork", 1, 0, neighbour, wrong, exec);
	check_samples("many processes without an exec or exit", many, 2 * MANY, MANY, 0);
}
