// SPDX-License-Identifier: GPL-2.0-only
/* What the records of a truth say of each other: times that no thread writes in that order, and
 * beginnings and ends that lack what goes with them. */
#include "harness/selftest/support/made_truth.h"

enum truth_fault {
	NONE,
	WIDER,         /* an act ends after the next one began */
	SOONER,        /* an act begins before the last one ended */
	LASTING,       /* what takes no time takes some */
	TWICE,         /* one record is there twice */
	LONG_LEAVE,    /* so does leaving */
	SOON_CODE,     /* code is whole before its memory is there */
	LATE_NAME,     /* a name is over after its text was written */
	TOO_MUCH_CPU,  /* an activation took more of it than there was */
	WAIT_TOO_LONG, /* a wait begins before the last one ended */
	NO_NAME,
	NO_TEXT, /* of the image */
	NO_END,
	NO_GONE,
	NO_CHILDS_END,
	AFTER_END, /* a record of one who told of its end */
	KILLED,    /* by nobody of the truth */
	FAULTS
};
static enum truth_fault fault;

/* Its own bracket, or one that ends @more later. */
static void map(uint64_t more)
{
	static const struct jp_truth_mapping mapping = {.addr = 0x1000, .len = 0x1000, .prot = 5};
	uint64_t before = jp_clock_now();

	jp_truth_map(before, jp_clock_now() + more, &mapping);
}

static void start(enum jp_truth_how how)
{
	const struct jp_truth_task_ids self = {getppid(), getppid()};
	uint64_t before = jp_clock_now();
	bool forked = how == JP_HOW_FORK;

	if ((fault != NO_NAME && fault != LATE_NAME) || forked) {
		jp_truth_process_start(before, how, self, 0);
	} else {
		put_at(JP_TRUTH_PROCESS_START, before, getppid(), how, 0, 0);
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
		start(JP_HOW_FORK);
		if (fault != NO_CHILDS_END)
			jp_truth_process_exit();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (fault != NO_GONE)
		jp_truth_gone(pid, pid);
}

static void write_family(void)
{
	uint64_t begin = jp_clock_now(), handled;

	start(JP_HOW_LAUNCH);
	map(fault == WIDER ? 1000000000 : 0);
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
	jp_truth_wait(0, jp_clock_now(), 0x1000, handled);
	if (fault == WAIT_TOO_LONG)
		jp_truth_wait(begin, jp_clock_now(), 0x1000, handled);
	write_child();
	if (fault == KILLED)
		jp_truth_process_died(getpid(), begin, jp_clock_now());
	else if (fault != NO_END)
		jp_truth_process_exit();
	if (fault == AFTER_END)
		map(0);
}

int main(void)
{
	static const struct {
		const char *what;
		uint64_t disorder, unpaired;
	} found[FAULTS] = {
		[NONE] = {"nothing", 0, 0},
		[WIDER] = {"an act over the next", 2, 0},
		[SOONER] = {"an act before the last", 1, 0},
		[LASTING] = {"a moment that lasts", 1, 0},
		[TWICE] = {"one twice", 1, 0},
		[LONG_LEAVE] = {"leaving that lasts", 1, 0},
		[SOON_CODE] = {"code before its memory", 1, 0},
		[LATE_NAME] = {"a name after its text", 6, 0},
		[TOO_MUCH_CPU] = {"CPU time out of nothing", 1, 0},
		[WAIT_TOO_LONG] = {"a wait within another", 1, 0},
		[NO_NAME] = {"no name", 0, 1},
		[NO_TEXT] = {"no text of its own", 0, 1},
		[NO_END] = {"no end", 0, 1},
		[NO_GONE] = {"nobody who waited", 0, 1},
		[NO_CHILDS_END] = {"gone, without its end", 0, 1},
		[AFTER_END] = {"an act after the end", 0, 1},
		[KILLED] = {"killed by nobody", 0, 1},
	};

	scratch_make("");
	for (fault = NONE; fault < FAULTS; fault++) {
		truth = write_truth("truth", 64, write_family) ? NULL : load_truth("truth");
		if (check(truth != NULL, "%s: written and read", found[fault].what))
			check(truth->disorder == found[fault].disorder &&
				      truth->unpaired == found[fault].unpaired,
			      "%s: %llu in no order, %llu unpaired", found[fault].what,
			      (unsigned long long)truth->disorder,
			      (unsigned long long)truth->unpaired);
		jp_truth_free(truth);
	}
	return check_done();
}
