// SPDX-License-Identifier: GPL-2.0-only
/* Fact probes that misbehave, each in one way; linked into jitproof-selftest only. */
#include <signal.h>
#include <unistd.h>

#include "harness/facts/probe_fact.h"

static void crash(struct jp_answer *answer)
{
	jp_answer_text(answer, "a value that nobody may believe");
	raise(SIGSEGV);
}

static void hang(struct jp_answer *answer)
{
	/* jitproof must end the child too: it keeps the pipe of standard error open. */
	jp_fact_fork(answer);
	for (;;)
		pause();
}

static void exit_early(struct jp_answer *answer)
{
	jp_answer_text(answer, "a value that nobody may believe");
	_exit(3);
}

static void report_missing(struct jp_answer *answer)
{
	jp_answer_missing(answer, "one thing");
	jp_answer_missing(answer, "another %d", 2);
	jp_answer_missing(answer, "one thing");
	jp_answer_text(answer, "a value that nobody may believe");
}

static void report_nothing(struct jp_answer *answer)
{
}

static void report_too_much(struct jp_answer *answer)
{
	jp_answer_list(answer);
	for (int i = 0; i < 1000; i++)
		jp_answer_number(answer, 1);
}

static void report_all_kinds(struct jp_answer *answer)
{
	jp_answer_list(answer);
	jp_answer_text(answer, "a \"text\"\n");
	jp_answer_number(answer, UINT64_MAX);
}

static const struct jp_fact facts[] = {
	{"bad.crash", "Dies.", .probe = crash},
	{"bad.hang", "Never ends.", .probe = hang},
	{"bad.leave", "Exits by itself.", .probe = exit_early},
	{"bad.lack", "Lacks two things.", .probe = report_missing},
	{"bad.nothing", "Gives no value.", .probe = report_nothing},
	{"bad.flood", "Has more to say than there is room.", .probe = report_too_much},
	{"bad.kinds", "Is well.", .probe = report_all_kinds},
};
JP_REGISTER_ROWS(fact, facts);
