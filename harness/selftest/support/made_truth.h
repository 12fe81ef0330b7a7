/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <elf.h>
#include <sys/wait.h>

#include "harness/format/truth/write.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/oracle/truth.h"
#include "harness/selftest/support/scratch.h"

/* Truth files that a child process writes record by record, and that tests read back. */

/* Runs @write in a child with a new truth file @name of @slots. Returns the child's wait status. */
static int write_truth(const char *name, uint64_t slots, void (*write)(void))
{
	int status = -1;
	pid_t pid;

	unlink(scratch_path(name));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct jp_error err;

		if (jp_truth_open(scratch_path(name), slots, &err)) {
			fprintf(stderr, "%s\n", err.text);
			_exit(2);
		}
		write();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static struct jp_truth *load_truth(const char *name)
{
	struct jp_error err;
	struct jp_truth *truth = jp_truth_load(scratch_path(name), &err);

	if (truth)
		truth->e_machine = EM_X86_64; /* sizes of the layouts below */
	else
		printf("# %s\n", err.text);
	return truth;
}

static void put_at(enum jp_truth_type type, uint64_t time, uint64_t a0, uint64_t a1, uint64_t a2,
		   uint64_t a3)
{
	jp_truth_append(&(struct jp_truth_record){
		.type = type, .before = time, .after = time, .a = {a0, a1, a2, a3}});
}

/* A function with 32 bytes of frame below the frame record; its call returns to offset 12. */
static const struct jp_truth_insn usual_insns[] = {
	{.offset = 0},
	{.offset = 1, .pre = 8},
	{.offset = 4, .pre = 8, .bp = JP_BP_OWN},
	{.offset = 8, .pre = 40, .bp = JP_BP_OWN},
	{.offset = 12, .pre = 40, .bp = JP_BP_OWN | JP_INSN_RETURN},
	{.offset = 16},
};
enum { SP = 0x7ff000, BP = 0x7ff010 };

__attribute__((unused)) static void put_activation(uint64_t from, uint64_t to, uint32_t path,
						   uint64_t roots)
{
	put_at(JP_TRUTH_ENTER, from, path, SP, BP, roots);
	put_at(JP_TRUTH_LEAVE, to, path, 0, 0, 0);
}

/* Adds a function with the layout above at @addr. Returns its id. */
__attribute__((unused)) static uint32_t add_code(uint64_t addr, const char *name, uint64_t time)
{
	static uint32_t layout;
	uint32_t id;

	layout = layout ?: jp_truth_layout(usual_insns, sizeof(usual_insns) / sizeof(*usual_insns));
	id = jp_truth_id();
	put_at(JP_TRUTH_CODE_LOAD, time, addr, 32, layout | (uint64_t)jp_truth_text(name) << 32,
	       id);
	return id;
}

__attribute__((unused)) static uint64_t add_roots(void)
{
	static const uint64_t chain[] = {0x500, 0x501, 0x502, 0x503}, dump[] = {0x500, 0x601};

	return jp_truth_root(JP_CHAIN, chain, 4) | (uint64_t)jp_truth_root(JP_DUMP, dump, 2) << 32;
}

/* The truth that the current test reads, and the stack that it searched last. */
static struct jp_truth *truth;
static struct jp_truth_stack stack;
static uint32_t parent, child; /* pids, if a child made the first act */

struct truth_test {
	uint64_t slots;
	void (*write)(void), (*test)(void);
};

__attribute__((unused)) static void run_truth_tests(const struct truth_test *tests, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		truth = write_truth("truth", tests[i].slots, tests[i].write) ? NULL
									     : load_truth("truth");
		if (check(truth, "truth %zu is written and read", i)) {
			child = truth->nr_acts ? truth->acts[0].pid : 0;
			parent = truth->nr_acts ? truth->acts[0].task.ppid : 0;
			tests[i].test();
		}
		jp_truth_free(truth);
	}
	jp_truth_stack_free(&stack);
}

__attribute__((unused)) static const struct jp_truth_code *find_code(uint32_t pid, uint64_t addr,
								     uint64_t time)
{
	return jp_truth_code_at(truth, pid, addr, time);
}
