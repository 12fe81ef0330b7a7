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

static const struct jp_fact bad_crash = {
	.name = "bad.crash",
	.about = "Dies.",
	.probe = crash,
};
JP_REGISTER(fact, bad_crash);

static void hang(struct jp_answer *answer)
{
	/* Its child must end, too: it holds the standard error of whoever reads that. */
	jp_fact_fork(answer);
	for (;;)
		pause();
}

static const struct jp_fact bad_hang = {
	.name = "bad.hang",
	.about = "Never ends.",
	.probe = hang,
};
JP_REGISTER(fact, bad_hang);

static void leave(struct jp_answer *answer)
{
	jp_answer_text(answer, "a value that nobody may believe");
	_exit(3);
}

static const struct jp_fact bad_leave = {
	.name = "bad.leave",
	.about = "Exits by itself.",
	.probe = leave,
};
JP_REGISTER(fact, bad_leave);

static void lack(struct jp_answer *answer)
{
	jp_answer_missing(answer, "one thing");
	jp_answer_missing(answer, "another %d", 2);
	jp_answer_missing(answer, "one thing");
	jp_answer_text(answer, "a value that nobody may believe");
}

static const struct jp_fact bad_lack = {
	.name = "bad.lack",
	.about = "Lacks two things.",
	.probe = lack,
};
JP_REGISTER(fact, bad_lack);

static void nothing(struct jp_answer *answer)
{
}

static const struct jp_fact bad_nothing = {
	.name = "bad.nothing",
	.about = "Gives no value.",
	.probe = nothing,
};
JP_REGISTER(fact, bad_nothing);

static void flood(struct jp_answer *answer)
{
	jp_answer_list(answer);
	for (int i = 0; i < 1000; i++)
		jp_answer_number(answer, 1);
}

static const struct jp_fact bad_flood = {
	.name = "bad.flood",
	.about = "Has more to say than there is room.",
	.probe = flood,
};
JP_REGISTER(fact, bad_flood);

static void all_kinds(struct jp_answer *answer)
{
	jp_answer_list(answer);
	jp_answer_text(answer, "a \"text\"\n");
	jp_answer_number(answer, UINT64_MAX);
}

static const struct jp_fact bad_kinds = {
	.name = "bad.kinds",
	.about = "Is well.",
	.probe = all_kinds,
};
JP_REGISTER(fact, bad_kinds);
