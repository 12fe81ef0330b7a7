// SPDX-License-Identifier: GPL-2.0-only
/* Tests inconsistent truth records: times in impossible order, and starts and ends without
 * counterpart. */
#include "harness/selftest/support/made_truth.h"

enum truth_fault {
	NONE,
	WIDER,         /* an act ends after the next began */
	SOONER,        /* an act begins before the last ended */
	LASTING,       /* an instantaneous record has a duration */
	TWICE,         /* a record occurs twice */
	LONG_LEAVE,    /* a LEAVE has a duration */
	SOON_CODE,     /* code is complete before its memory exists */
	LATE_NAME,     /* a COMM ends after its text was written */
	TOO_MUCH_CPU,  /* an activation took more CPU time than elapsed */
	WAIT_TOO_LONG, /* a wait begins before the last ended */
	NO_NAME,
	NO_TEXT, /* no FILE record of the program */
	NO_END,
	NO_GONE,
	NO_CHILDS_END,
	EXIT_INSIDE, /* the process ends within an activation */
	AFTER_END,   /* a record after the process's END */
	KILLED,      /* the process was killed, but not by a recorded process */
	FAULTS
};
static enum truth_fault fault;

/* Records a MAP whose bracket ends @delay ns later. */
static void record_map(uint64_t delay)
{
	static const struct jp_truth_mapping mapping = {.addr = 0x1000, .len = 0x1000, .prot = 5};
	uint64_t before = jp_clock_now();

	jp_truth_map(before, jp_clock_now() + delay, &mapping);
}

static void record_start(enum jp_start_kind kind)
{
	const struct jp_truth_task_ids self = {getppid(), getppid()};
	uint64_t before = jp_clock_now();
	bool forked = kind == JP_START_FORK;

	if ((fault != NO_NAME && fault != LATE_NAME) || forked) {
		jp_truth_process_start(before, kind, self, 0);
	} else {
		put_at(JP_TRUTH_PROCESS_START, before, getppid(), kind, 0, 0);
		before = jp_clock_now();
		if (fault == LATE_NAME)
			jp_truth_append(&(struct jp_truth_record){.type = JP_TRUTH_COMM,
								  .before = before,
								  .text = {jp_truth_text("a")},
								  .after = UINT64_MAX / 2});
	}
	if (fault != NO_TEXT && !forked)
		jp_truth_file(0x5000, 0x1000, 1, 1, 1, "- /a");
}

static void write_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		jp_truth_new_task();
		record_start(JP_START_FORK);
		if (fault != NO_CHILDS_END)
			jp_truth_process_exit();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (fault != NO_GONE)
		jp_truth_task_released(pid, pid);
}

static void write_family(void)
{
	uint64_t begin = jp_clock_now(), handled;

	record_start(JP_START_LAUNCH);
	record_map(fault == WIDER ? 1000000000 : 0);
	if (fault == SOONER)
		put_at(JP_TRUTH_UNMAP, begin, 0x1000, 0x1000, 0, 0);
	if (fault == LASTING)
		jp_truth_append(&(struct jp_truth_record){.type = JP_TRUTH_FRAMES,
							  .before = jp_clock_now(),
							  .after = jp_clock_now() + 1,
							  .frames = {.id = jp_truth_id()}});
	handled = jp_clock_now();
	for (int i = 0; fault == TWICE && i < 2; i++)
		put_at(JP_TRUTH_MAP, handled, 0x1000, 0x1000, 5, 0);
	if (fault == LONG_LEAVE) {
		put_at(JP_TRUTH_ENTER, jp_clock_now(), 0, 0, 0, 0);
		jp_truth_append(&(struct jp_truth_record){.type = JP_TRUTH_LEAVE,
							  .before = jp_clock_now(),
							  .after = jp_clock_now() + 1});
	}
	if (fault == SOON_CODE)
		jp_truth_append(&(struct jp_truth_record){
			.type = JP_TRUTH_CODE_UNLOAD, .before = begin, .after = begin});
	if (fault == TOO_MUCH_CPU) {
		put_at(JP_TRUTH_ENTER, jp_clock_now(), 0, 0, 0, 0);
		put_at(JP_TRUTH_LEAVE, jp_clock_now(), 0, UINT64_C(1000000000) << 8, 0, 0);
	}
	handled = jp_clock_now();
	jp_truth_waited_for_exec(0, jp_clock_now(), 0x1000, handled);
	if (fault == WAIT_TOO_LONG)
		jp_truth_waited_for_exec(begin, jp_clock_now(), 0x1000, handled);
	write_child();
	if (fault == EXIT_INSIDE)
		put_at(JP_TRUTH_ENTER, jp_clock_now(), 0, 0, 0, 0);
	if (fault == KILLED)
		jp_truth_process_died(getpid(), begin, jp_clock_now());
	else if (fault != NO_END)
		jp_truth_process_exit();
	if (fault == AFTER_END)
		record_map(0);
}

TEST(truth_order)
{
	static const struct {
		const char *what;
		uint64_t disorder, unpaired, overspent;
	} found[FAULTS] = {
		[NONE] = {"no fault", 0, 0, 0},
		[WIDER] = {"an act that overlaps the next", 2, 0, 0},
		[SOONER] = {"an act before the last", 1, 0, 0},
		[LASTING] = {"an instant with a duration", 1, 0, 0},
		[TWICE] = {"a record twice", 1, 0, 0},
		[LONG_LEAVE] = {"a LEAVE with a duration", 1, 0, 0},
		[SOON_CODE] = {"code before its memory", 1, 0, 0},
		[LATE_NAME] = {"a name after its text", 6, 0, 0},
		[TOO_MUCH_CPU] = {"too much CPU time", 0, 0, 1},
		[WAIT_TOO_LONG] = {"a wait within another", 1, 0, 0},
		[NO_NAME] = {"no name", 0, 1, 0},
		[NO_TEXT] = {"no file of the program", 0, 1, 0},
		[NO_END] = {"no end", 0, 1, 0},
		[NO_GONE] = {"no GONE", 0, 1, 0},
		[NO_CHILDS_END] = {"GONE without END", 0, 1, 0},
		[EXIT_INSIDE] = {"an END within an activation", 0, 1, 0},
		[AFTER_END] = {"an act after END", 0, 1, 0},
		[KILLED] = {"killed by an unknown process", 0, 1, 0},
	};

	for (fault = NONE; fault < FAULTS; fault++) {
		truth = write_truth("truth", 64, write_family) ? NULL : load_truth("truth");
		if (check(truth != NULL, "%s: written and read", found[fault].what))
			check(truth->disorder == found[fault].disorder &&
				      truth->unpaired == found[fault].unpaired &&
				      truth->overspent == found[fault].overspent,
			      "%s: %llu out of order, %llu unpaired, %llu with too much CPU time",
			      found[fault].what, (unsigned long long)truth->disorder,
			      (unsigned long long)truth->unpaired,
			      (unsigned long long)truth->overspent);
		jp_truth_free(truth);
	}
}
