// SPDX-License-Identifier: GPL-2.0-only
/* Probes that misbehave, each in one way. They are in jitproof-selftest only. */
#include <signal.h>
#include <unistd.h>

#include "harness/facts/ask.h"

static void crash(struct jp_answer *answer)
{
	jp_answer_text(answer, "a value that nobody may believe");
	raise(SIGSEGV);
}

static void hang(struct jp_answer *answer)
{
	/* Its child must end, too: it holds the standard error of whoever reads that. */
	jp_fact_fork(answer);
	for (;;)
		pause();
}

static void leave(struct jp_answer *answer)
{
	jp_answer_text(answer, "a value that nobody may believe");
	_exit(3);
}

static void lack(struct jp_answer *answer)
{
	jp_answer_missing(answer, "one thing");
	jp_answer_missing(answer, "another %d", 2);
	jp_answer_missing(answer, "one thing");
	jp_answer_text(answer, "a value that nobody may believe");
}

static void nothing(struct jp_answer *answer)
{
}

static void flood(struct jp_answer *answer)
{
	jp_answer_list(answer);
	for (int i = 0; i < 1000; i++)
		jp_answer_number(answer, 1);
}

static void all_kinds(struct jp_answer *answer)
{
	jp_answer_list(answer);
	jp_answer_text(answer, "a \"text\"\n");
	jp_answer_number(answer, UINT64_MAX);
}

static const struct jp_fact facts[] = {
	{"bad.crash", "Dies.", .probe = crash},
	{"bad.hang", "Never ends.", .probe = hang},
	{"bad.leave", "Exits by itself.", .probe = leave},
	{"bad.lack", "Lacks two things.", .probe = lack},
	{"bad.nothing", "Gives no value.", .probe = nothing},
	{"bad.flood", "Has more to say than there is room.", .probe = flood},
	{"bad.kinds", "Is well.", .probe = all_kinds},
};
JP_REGISTER_ROWS(fact, facts);
