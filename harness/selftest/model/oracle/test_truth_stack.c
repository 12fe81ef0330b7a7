// SPDX-License-Identifier: GPL-2.0-only
/* Stacks that a truth predicts for an address and a stack pointer, and torn or unwritten records.
 */

#include "harness/model/machine/machine.h"
#include "harness/selftest/support/made_truth.h"

/* The story: two functions, two paths, four activations; code moves between the third and the
 * fourth. */
static void write_story(void)
{
	uint32_t outer = add_code(0x1000, "outer, whose name takes three parts of the file", 100);
	uint32_t inner = add_code(0x2000, "inner", 110);
	uint32_t short_path = jp_truth_path((uint32_t[]){outer, inner}, 2);
	uint32_t long_path = jp_truth_path((uint32_t[]){outer, outer, inner}, 3);
	uint64_t roots = add_roots();

	put_at(JP_TRUTH_PROCESS_START, 50, 1, JP_START_LAUNCH, 0, 0);
	put_at(JP_TRUTH_MAP, 60, 0x1000, 0x2000,
	       JP_PROT_EXEC | JP_BACKING_MEMFD << 8 | (uint64_t)jp_truth_text("memfd") << 32,
	       0x3000);
	put_activation(1000, 2000, short_path, roots);
	put_activation(2010, 3000, long_path, roots);
	put_at(JP_TRUTH_ENTER, 3010, short_path, SP, BP, roots);
	put_at(JP_TRUTH_LEAVE, 4000, short_path | UINT64_C(40) << 32, 1 | 700 << 8, 0, 0);
	put_at(JP_TRUTH_CODE_MOVE, 4100, outer, 0x9000, 0, 0);
	put_at(JP_TRUTH_ENTER, 5000, short_path, SP, BP, roots);
	put_at(JP_TRUTH_MARK, 5500, jp_truth_text("mark"), 7, 0, 0);
	put_at(JP_TRUTH_MAPS, 5600, jp_truth_text("1000-2000 r-xp"), 0, 0, 0);
	put_at(JP_TRUTH_COMM, 5700, jp_truth_text("name"), 0, 0, 0);
}

static bool frames_equal(const uint64_t *frames, uint32_t count, const char *expected)
{
	char text[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < count && used < sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - used, i ? " %lx" : "%lx",
				 (long)frames[i]);
	return !strcmp(text, expected);
}

/* Returns whether depth, all frames and the frames that the method sees, in hex digits, are as
 * given. */
static bool is_stack(uint32_t depth, const char *complete, const char *seen)
{
	return stack.depth == depth && frames_equal(stack.frames, stack.nr_whole, complete) &&
	       frames_equal(stack.expected, stack.nr_seen, seen);
}

static bool is_inside(uint32_t tid, uint64_t time, uint64_t slack)
{
	return jp_truth_is_inside(truth, tid, time, slack);
}

/* Tests stacks for samples without a stack pointer, in @pid, at times when a thread was or was not
 * certainly inside a path. */
static void test_guesses(uint32_t pid)
{
	static const struct {
		const char *what;
		uint64_t ip, time, slack;
		uint32_t apart; /* 1: the sample has the pid of another process */
		enum jp_method method;
		enum jp_stack_answer answer;
	} table[] = {
		{"in a path", 0x2008, 1500, 0, 0, JP_CHAIN, JP_STACK_FOUND},
		{"of any time", 0x2008, 1500, UINT64_MAX, 0, JP_DUMP, JP_STACK_FOUND},
		{"in none of its functions", 0x3000, 1500, 0, 0, JP_CHAIN, JP_STACK_NO_DEPTH},
		{"before the first", 0x2008, 500, 0, 0, JP_CHAIN, JP_STACK_NO_ACTIVATION},
		{"of another process", 0x2008, 1500, 0, 1, JP_CHAIN, JP_STACK_NO_ACTIVATION},
		{"whose root changed", 0x2008, 3500, 0, 0, JP_CHAIN, JP_STACK_UNJUDGED},
		{"whose root changed, by another method", 0x2008, 3500, 0, 0, JP_DUMP,
		 JP_STACK_FOUND},
	};
	uint16_t machine = truth->e_machine;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_truth_guess guess = {.ip = table[i].ip};
		enum jp_stack_answer answer =
			jp_truth_stack_guess(truth, pid + table[i].apart, pid, table[i].time,
					     table[i].slack, table[i].method, &guess, &stack);

		check(answer == table[i].answer, "a guess %s: %d", table[i].what, answer);
	}
	jp_truth_stack_free(&stack);
	truth->e_machine = EM_SPARC;
	check(jp_truth_stack_at(truth, pid, pid, 1500, 0, 0x2008, SP - 88, JP_CHAIN, &stack) ==
			      JP_STACK_UNJUDGED &&
		      jp_truth_stack_guess(truth, pid, pid, 1500, 0, JP_CHAIN,
					   &(struct jp_truth_guess){.ip = 0x2008},
					   &stack) == JP_STACK_UNJUDGED,
	      "stacks of an unsupported machine are not judged");
	truth->e_machine = machine;
	check(jp_truth_stack_at(truth, pid + 1, pid, 1500, 0, 0x2008, SP - 88, JP_CHAIN, &stack) ==
		      JP_STACK_NO_ACTIVATION,
	      "a thread of another process has no activation");
	check(is_inside(pid, 1500, 100) && is_inside(pid, 1110, 100) && is_inside(pid, 1890, 100),
	      "a thread is certainly inside a path between its ends");
	check(!is_inside(pid, 1090, 100) && !is_inside(pid, 1900, 100) &&
		      !is_inside(pid, 2000, 0) && !is_inside(pid, 50, 100) &&
		      !is_inside(pid + 1, 1500, 100),
	      "not near the ends, before the first or in another thread");
	check(is_inside(pid, 3060, 0) && !is_inside(pid, 3049, 0),
	      "an activation counts from the end of its entry");
}

static void test_true_stacks(void)
{
	uint32_t pid = truth->codes[0].pid;

	check(!truth->torn && !truth->gaps && !truth->overflow, "no record is torn");
	check(truth->nr_acts == 5 && !strcmp(truth->acts[1].map.name, "/memfd:memfd (deleted)") &&
		      truth->acts[1].map.pgoff == 0x3000 && truth->acts[2].mark.value == 7 &&
		      !strcmp(truth->acts[2].mark.text, "mark"),
	      "acts come in order of time, with their names");
	check(truth->acts[3].type == JP_EVENT_MAPS &&
		      !strcmp(truth->acts[3].maps.text, "1000-2000 r-xp") &&
		      truth->acts[4].type == JP_EVENT_COMM &&
		      !strcmp(truth->acts[4].comm.name, "name"),
	      "snapshots of maps and names are read");
	check(truth->activations[2].cpu == 700 && truth->activations[2].roots_changed &&
		      truth->activations[0].cpu == 0 && truth->activations[3].cpu == UINT64_MAX,
	      "an activation has the CPU time from ENTER to LEAVE");
	check(truth->activations[2].enter == 3010 && truth->activations[2].called == 3050,
	      "a LEAVE states how long the entry took");
	check(truth->nr_codes == 3 && truth->nr_activations == 4 && truth->nr_paths == 3 &&
		      !strcmp(truth->codes[0].name,
			      "outer, whose name takes three parts of the file"),
	      "all functions, activations and paths are read");
	check(find_code(pid, 0x1004, 4050) == &truth->codes[0] && !find_code(pid, 0x1004, 4101) &&
		      !find_code(pid, 0x1020, 4050) && !find_code(pid, 0x9004, 4050) &&
		      !find_code(pid + 1, 0x1004, 4050) &&
		      find_code(pid, 0x9004, 4101) == &truth->codes[2],
	      "code is found at its address while it is loaded");

#define AT(time, slack, ip, sp, method)                                                            \
	jp_truth_stack_at(truth, pid, pid, time, slack, ip, sp, method, &stack)
	/* inner starts 40 + 8 below outer; in its body both frames are linked. */
	check(AT(1500, 0, 0x2008, SP - 48 - 40, JP_CHAIN) == JP_STACK_FOUND &&
		      is_stack(1, "2008 100c 500 501 502 503", "2008 100c 500 501 502 503"),
	      "in a body the frame-pointer rule sees every caller");
	check(AT(1500, 0, 0x2001, SP - 48 - 8, JP_DUMP) == JP_STACK_FOUND &&
		      is_stack(1, "2001 100c 500 601", "2001 500 601"),
	      "in a prologue it misses one caller");
	check(AT(1500, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_FOUND &&
		      is_stack(0, "1000 500 501 502 503", "1000 501 502 503"),
	      "at the outermost start it misses the native caller");
	check(AT(2500, 0, 0x1008, SP - 40, JP_CHAIN) == JP_STACK_FOUND && stack.depth == 0 &&
		      AT(2500, 0, 0x1008, SP - 48 - 40, JP_CHAIN) == JP_STACK_FOUND &&
		      stack.depth == 1,
	      "in recursion sp gives the depth");
	check(AT(1500, 0, 0x2008, SP - 40, JP_CHAIN) == JP_STACK_NO_DEPTH &&
		      AT(1500, 0, 0x2009, SP - 88, JP_CHAIN) == JP_STACK_NO_DEPTH &&
		      AT(1500, 0, 0x3000, SP, JP_CHAIN) == JP_STACK_NO_DEPTH,
	      "no depth for a wrong sp, between instructions, or outside");
	check(AT(500, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_NO_ACTIVATION &&
		      AT(2005, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_NO_ACTIVATION &&
		      jp_truth_stack_at(truth, pid, pid + 1, 1500, 0, 0x1000, SP, JP_CHAIN,
					&stack) == JP_STACK_NO_ACTIVATION,
	      "no activation before, between, or for another thread");
	check(AT(2005, 20, 0x1008, SP - 40, JP_CHAIN) == JP_STACK_UNJUDGED &&
		      AT(2005, 20, 0x2008, SP - 88, JP_CHAIN) == JP_STACK_FOUND &&
		      stack.activation->enter == 1000 &&
		      AT(2005, 20, 0x2008, SP - 136, JP_CHAIN) == JP_STACK_FOUND &&
		      stack.activation->enter == 2010,
	      "between two activations a stack is unjudged only if both allow it");
	check(AT(3500, 0, 0x1000, SP, JP_CHAIN) == JP_STACK_UNJUDGED &&
		      AT(3500, 0, 0x1000, SP, JP_DUMP) == JP_STACK_FOUND,
	      "a stack whose root changed meanwhile is unjudged");
	check(AT(9999, 0, 0x9008, SP - 40, JP_DUMP) == JP_STACK_FOUND &&
		      AT(9999, 0, 0x1008, SP - 40, JP_DUMP) == JP_STACK_NO_DEPTH,
	      "a path uses its functions' new addresses after a move");
#undef AT
	test_guesses(pid);
}

/* Loads the story with one bit of slot @index flipped. Stores the number of slots in *@used. */
static struct jp_truth *load_torn_story(size_t index, size_t *used)
{
	const char *path = scratch_path("torn");
	jp_cleanup_free char *bytes = NULL;
	struct jp_truth_record *slot;
	size_t size;

	write_truth("torn", 256, write_story);
	bytes = jp_file_read(path, 1 << 20, &size, NULL);
	if (!bytes)
		exit(99);
	slot = (struct jp_truth_record *)(bytes + JP_TRUTH_PAGE) + index;
	slot->a[1] ^= 4;
	scratch_write(path, bytes, size);
	*used = ((struct jp_truth_header *)bytes)->next_slot;
	return load_truth("torn");
}

TEST(torn_truth)
{
	const char *path = scratch_path("torn");
	struct jp_truth *torn;
	size_t used, end;

	torn = load_torn_story(0, &used); /* flip the first part of the layout of all code */
	check(torn && torn->torn > 1 && torn->gaps > 1 && !torn->nr_codes && !torn->nr_activations,
	      "records that depend on a torn one are dropped too");
	jp_truth_free(torn);
	for (size_t i = 0, lost = 0; i < used; i++) {
		torn = load_torn_story(i, &used);
		lost += torn && torn->torn && (torn->gaps || i + 1 == used);
		jp_truth_free(torn);
		if (i + 1 == used)
			check(lost == used, "a torn record in any slot is noticed");
	}
	torn = load_truth("torn");
	check(torn && torn->torn == 1 && !torn->gaps && torn->nr_acts == 4,
	      "a torn last record is skipped without a gap");
	jp_truth_free(torn);
	end = JP_TRUTH_PAGE + used * sizeof(struct jp_truth_record);
	/* Zeros mean that a writer reserved the slot but never wrote it. */
	check(!truncate(path, end - sizeof(struct jp_truth_record)) && !truncate(path, end) &&
		      (torn = load_truth("torn")) && torn->torn == 1 && !torn->gaps,
	      "a slot that was never written is torn; the unused tail may be missing");
	jp_truth_free(torn);
	check(!truncate(path, (INT64_C(4) << 30) + JP_TRUTH_PAGE) && (torn = load_truth("torn")),
	      "the unused tail may be a hole of 4 GiB");
	jp_truth_free(torn);
	check(!truncate(path, end - 1) && !load_truth("torn"), "a cut file is refused");
	write_truth("full", 20, write_story);
	torn = load_truth("full");
	check(torn && torn->overflow == used - 20, "a full file states how many records it lost");
	jp_truth_free(torn);
}

/* A tail call, a function with other data in bp, and one with misleading call frame information. */
static const struct jp_truth_insn tail_insns[] = {
	{.offset = 0}, {.offset = 4, .pre = 8, .bp = JP_BP_OWN}, {.offset = 8, .bp = JP_INSN_TAIL}};
static const struct jp_truth_insn other_insns[] = {
	{.offset = 0},
	{.offset = 4, .pre = 40, .bp = JP_BP_OTHER | JP_INSN_SIGNED},
	{.offset = 8, .pre = 40, .bp = JP_BP_OTHER | JP_INSN_SIGNED | JP_INSN_RETURN}};
static const struct jp_truth_insn misled_insns[] = {
	{.offset = 0},
	{.offset = 4, .pre = 56, .bp = JP_INSN_MISLED},
	{.offset = 8, .pre = 56, .bp = JP_INSN_MISLED | JP_INSN_RETURN}};

static uint32_t add_function_with_frames(uint64_t addr, const struct jp_truth_insn *layout,
					 uint32_t frames)
{
	uint32_t id = jp_truth_id();

	put_at(JP_TRUTH_CODE_LOAD, 100, addr, 32,
	       jp_truth_layout(layout, 3) | (uint64_t)jp_truth_text("framed") << 32,
	       id | (uint64_t)frames << 32);
	return id;
}

static void write_misleading(void)
{
	static const uint64_t detour[] = {0x700, 0x701}, between[] = {0x500, 0x800};
	uint32_t inner = add_code(0x1000, "in", 100), outer = add_code(0x2000, "out", 100);
	uint32_t tail = add_function_with_frames(0x3000, tail_insns, 0);
	uint32_t misled = add_function_with_frames(
		0x4000, other_insns,
		jp_truth_frames(JP_CFI_NO_FILE, 1, jp_truth_root(JP_CHAIN, detour, 2), 0));
	uint32_t stale = add_function_with_frames(0x5000, misled_insns,
						  jp_truth_frames(JP_CFI_RIGHT, 0x2020, 0, 0));
	uint32_t zero = add_function_with_frames(0x6000, misled_insns,
						 jp_truth_frames(JP_CFI_RIGHT, 0, 0, 0));
	uint32_t frameless = add_function_with_frames(0x7000, other_insns,
						      jp_truth_frames(JP_CFI_ABSENT, 0, 0, 0));
	uint32_t vdso = add_function_with_frames(
		0x8000, tail_insns, jp_truth_frames(JP_CFI_RIGHT, 0, 0, JP_FRAMES_VDSO));
	uint32_t paths[] = {jp_truth_path((uint32_t[]){outer, tail, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, misled, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, stale, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, zero, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, frameless, inner}, 3),
			    jp_truth_path((uint32_t[]){outer, vdso}, 2)};
	uint32_t own_path = jp_truth_path(&inner, 1);
	uint64_t roots = add_roots(), handler = roots & UINT32_MAX;

	put_at(JP_TRUTH_PROCESS_START, 50, 1, JP_START_LAUNCH, 0, 0);
	put_at(JP_TRUTH_FILE, 60, 0x5000, 0x3000, 1, jp_truth_text("- /library"));
	for (int i = 0; i < 6; i++)
		put_activation(1000 + i * 100, 1090 + i * 100, paths[i], roots);
	/* Writes a handler that interrupts out+8 of the first path, on the same and on another
	 * stack. */
	handler |= (uint64_t)jp_truth_root(JP_DUMP, between, 2) << 32;
	for (uint64_t flags = 0; flags < 2; flags++) {
		uint64_t time = 2000 + flags * 1000;

		put_at(JP_TRUTH_ENTER, time, paths[0], SP, BP, roots);
		put_at(JP_TRUTH_LEAVE, time + 100, paths[0], JP_LEAVE_INTERRUPTED, 0x2008, SP - 40);
		put_at(JP_TRUTH_ENTER, time + 200, own_path | (JP_ENTER_INTERRUPTED | flags) << 32,
		       SP - 999, 0, handler);
		put_at(JP_TRUTH_LEAVE, time + 300, own_path, 0, 0, 0);
		put_activation(time + 400, time + 500, paths[0], roots);
	}
	put_at(JP_TRUTH_ENTER, 5000, own_path | (uint64_t)JP_ENTER_OTHER_STACK << 32, SP, BP,
	       roots);
	put_at(JP_TRUTH_LEAVE, 5100, own_path, 0, 0, 0);
}

static char words_found[256];

static void append_word(void *context, uint64_t addr, uint64_t value, uint64_t signature)
{
	const size_t used = strlen(words_found);

	snprintf(words_found + used, sizeof(words_found) - used, "%+ld:%lx%s ", (long)(addr - SP),
		 (long)value, signature ? " signed" : "");
}

/* Code outside of paths runs the vDSO too, and its layout may lack instructions. */
static void test_vdso(void)
{
	static const struct {
		const char *what;
		uint64_t time, ip, sp;
		enum jp_stack_answer answer;
	} table[] = {
		{"in its place in the path", 1550, 0x8004, SP - 56, JP_STACK_FOUND},
		{"not called by a function of the path", 1550, 0x8004, SP - 64, JP_STACK_NO_DEPTH},
		{"at an instruction that its layout lacks", 1550, 0x8006, SP - 64,
		 JP_STACK_UNJUDGED},
		{"called by the path's caller", 1550, 0x8004, SP + 64, JP_STACK_UNJUDGED},
		{"outside of a path", 1595, 0x8004, SP - 64, JP_STACK_UNJUDGED},
		{"called by a handler's caller", 2050, 0x8004, SP - 64, JP_STACK_UNJUDGED},
		{"on another stack", 5050, 0x8004, SP - 64, JP_STACK_UNJUDGED},
	};
	const uint32_t pid = truth->codes[0].pid;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check(jp_truth_stack_at(truth, pid, pid, table[i].time, 0, table[i].ip, table[i].sp,
					JP_DUMP, &stack) == table[i].answer,
		      "the vDSO: %s", table[i].what);
}

/* Words on the stack, by their distance from the thread's SP, and the frame pointer. */
static void test_words(void)
{
	static const struct {
		const char *what;
		uint64_t time, ip, sp;
		const char *words;
		int64_t fp; /* frame pointer's distance from SP; 1: unknown */
	} table[] = {
		{"after a tail call nothing of the caller is left", 1050, 0x1008, SP - 88,
		 "+0:500 -8:7ff010 -48:200c -56:7feff8 ", -56},
		{"without a frame nothing is saved yet", 1050, 0x1000, SP - 48,
		 "+0:500 -8:7ff010 -48:200c ", -8},
		{"the outermost function has the native frame pointer", 1050, 0x2001, SP - 8,
		 "+0:500 ", BP - SP},
		{"a bp with other data is unknown", 1150, 0x4004, SP - 88,
		 "+0:500 -8:7ff010 -48:200c -56:7feff8 ", 1},
		{"a callee saves it unknown", 1150, 0x1008, SP - 136,
		 "+0:500 -8:7ff010 -48:200c -56:7feff8 -96:4008 ", -104},
		{"a callee without a frame leaves it unknown", 1150, 0x1000, SP - 96,
		 "+0:500 -8:7ff010 -48:200c -56:7feff8 -96:4008 ", 1},
		{"call frame information does not matter", 1250, 0x1008, SP - 152,
		 "+0:500 -8:7ff010 -48:200c -112:5008 -120:7feff8 ", -120},
	};
	const uint32_t pid = truth->codes[0].pid;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		uint64_t fp = 0;
		bool has_stack = jp_truth_stack_at(truth, pid, pid, table[i].time, 0, table[i].ip,
						   table[i].sp, JP_DUMP, &stack) == JP_STACK_FOUND;
		bool is_known =
			has_stack && (*words_found = 0,
				      jp_truth_visit_stack_words(&stack, append_word, NULL, &fp));

		check(has_stack && !strcmp(words_found, table[i].words) &&
			      is_known == (table[i].fp != 1) &&
			      (!is_known || fp == SP + (uint64_t)table[i].fp),
		      "%s: %s %lx", table[i].what, words_found, (long)fp);
	}
}

/*
 * On arm64 a frame pointer that the stack holds must lead upwards, and one in the register need
 * not. On riscv64 the kernel takes the first caller from the link register, not from the frame
 * record that it then continues behind. A call pushes nothing on either machine.
 */
static void test_chains_of_other_machines(void)
{
	static const struct {
		const char *what;
		uint16_t e_machine;
		uint64_t time, ip, sp;
		const char *seen;
	} table[] = {
		{"in the body both are the caller", EM_RISCV, 1050, 0x1008, SP - 80,
		 "1008 200c 500 501 502 503"},
		{"before the frame the caller's own caller is missing", EM_RISCV, 1050, 0x1000,
		 SP - 40, "1000 200c 501 502 503"},
		{"after a call a function seems to have called itself", EM_RISCV, 1050, 0x100c,
		 SP - 80, "100c 100c 500 501 502 503"},
		{"a saved frame pointer that leads downwards ends the chain", EM_AARCH64, 1150,
		 0x1008, SP - 120, "1008 4008"},
		{"the register may lead downwards", EM_AARCH64, 1150, 0x4004, SP - 80,
		 "4004 700 701"},
	};
	const struct jp_machine *machine = stack.machine;
	const uint32_t pid = truth->codes[0].pid;
	uint64_t fp;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		stack.machine = jp_machine_find(table[i].e_machine);
		check(jp_truth_stack_at(truth, pid, pid, table[i].time, 0, table[i].ip, table[i].sp,
					JP_CHAIN, &stack) == JP_STACK_FOUND &&
			      (table[i].e_machine == EM_RISCV || stack.end == JP_END_BP) &&
			      frames_equal(stack.expected, stack.nr_seen, table[i].seen),
		      "machine %d: %s", table[i].e_machine, table[i].what);
	}
	*words_found = 0;
	jp_truth_visit_stack_words(&stack, append_word, NULL, &fp);
	check(strstr(words_found, "-48:200c signed -56:") && !strstr(words_found, "500 signed"),
	      "arm64: the layout states which return address is signed: %s", words_found);
	stack.machine = machine;
}

static bool lacks_trampoline(void *context, uint32_t pid, uint64_t addr)
{
	return addr == 0x800 - 1;
}

/* arm64's vDSO, to which a handler returns, has no call frame information. */
static void test_signal_trampoline_of_arm64(void)
{
	const uint32_t pid = truth->codes[0].pid;

	stack.lacks_file = lacks_trampoline;
	check(jp_truth_stack_at(truth, pid, pid, 2250, 0, 0x1008, SP - 999 - 40, JP_DUMP, &stack) ==
			      JP_STACK_FOUND &&
		      stack.end == JP_END_NO_CFI &&
		      frames_equal(stack.expected, stack.nr_seen, "1008 500 800"),
	      "a dump ends at a handler's trampoline without call frame information");
	stack.lacks_file = NULL;
}

static bool is_at_7000(void *context, uint32_t pid, uint64_t addr)
{
	return addr == 0x7000;
}

/* A walk follows frame pointers in a file that it takes for a JIT's memory. */
static void test_code_that_seems_emitted(void)
{
	const uint32_t pid = truth->codes[0].pid;

	stack.seems_emitted = is_at_7000;
	check(jp_truth_stack_at(truth, pid, pid, 1450, 0, 0x1008, SP - 48 - 48 - 40, JP_DUMP,
				&stack) == JP_STACK_FOUND &&
		      stack.end == JP_END_BP &&
		      frames_equal(stack.expected, stack.nr_seen, "1008 7008"),
	      "a walk follows frame pointers in a file that seems emitted");
	stack.seems_emitted = NULL;
}

static void test_misleading_cfi(void)
{
	/* out's callee starts 48 below it, the next callee another 48 or 64. */
	enum { SECOND = SP - 48, THIRD = SECOND - 48, DEEP = SECOND - 64 };
	static const struct {
		const char *what;
		uint64_t time, sp;
		enum jp_method method;
		uint32_t at;
		enum jp_truth_end end;
		const char *whole, *seen;
	} table[] = {
		{"a tail-calling function is not on the stack", 1050, SECOND - 40, JP_DUMP, 2,
		 JP_END_ROOT, "1008 200c 500 601", "1008 200c 500 601"},
		{"the frame-pointer rule follows other data in bp", 1150, THIRD - 40, JP_CHAIN, 2,
		 JP_END_BP, "1008 4008 200c 500 501 502 503", "1008 4008 700 701"},
		{"in a dump it does not", 1150, THIRD - 40, JP_DUMP, 2, JP_END_BP,
		 "1008 4008 200c 500 601", "1008 4008"},
		{"a stale word counts as a caller, also behind code, before the right callers",
		 1250, DEEP - 40, JP_DUMP, 2, JP_END_ROOT, "1008 5008 200c 500 601",
		 "1008 5008 2020 500 601"},
		{"a word of 0 ends the stack", 1350, DEEP - 40, JP_DUMP, 2, JP_END_ZERO,
		 "1008 6008 200c 500 601", "1008 6008"},
		{"without call frame information it stops", 1450, THIRD - 40, JP_DUMP, 2,
		 JP_END_NO_CFI, "1008 7008 200c 500 601", "1008 7008"},
		{"a handler's stack continues in the interrupted stack", 2250, SP - 999 - 40,
		 JP_DUMP, 0, JP_END_ROOT, "1008 500 800 2008 500 601", "1008 500 800 2008 500 601"},
		{"it ends if the interrupted stack is another", 3250, SP - 999 - 40, JP_DUMP, 0,
		 JP_END_STACK, "1008 500 800 2008 500 601", "1008 500 800 2008"},
		{"it ends if the caller is on another stack", 5050, SP - 40, JP_DUMP, 0,
		 JP_END_STACK, "1008 500 601", "1008 500"},
	};
	const uint32_t pid = truth->codes[0].pid;

	check(!truth->torn && !truth->gaps && truth->nr_activations == 13,
	      "frames, tail calls and interrupted activations are read");
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check(jp_truth_stack_at(truth, pid, pid, table[i].time, 0, 0x1008, table[i].sp,
					table[i].method, &stack) == JP_STACK_FOUND &&
			      stack.end == table[i].end &&
			      stack.faithful ==
				      (table[i].end == JP_END_ROOT && table[i].time != 1250) &&
			      is_stack(table[i].at, table[i].whole, table[i].seen),
		      "%s", table[i].what);
	for (uint64_t slack = 3; slack < 10; slack += 6) {
		struct jp_truth_guess guess = {.ip = 0x1008};
		enum jp_stack_answer answer =
			jp_truth_stack_guess(truth, pid, pid, 1095, slack, JP_DUMP, &guess, &stack);

		check(answer == (slack < 5 ? JP_STACK_NO_ACTIVATION : JP_STACK_FOUND),
		      "a sample 5 ns from two activations, with clocks %d ns apart", (int)slack);
	}
	test_vdso();
	test_words();
	test_chains_of_other_machines();
	test_signal_trampoline_of_arm64();
	test_code_that_seems_emitted();
}

static void write_long_story(void)
{
	uint32_t functions[300], shallow, deep;
	uint64_t roots = add_roots();

	for (unsigned i = 0; i < 300; i++)
		functions[i] = add_code(0x10000 + i * 64, "f", 1);
	shallow = jp_truth_path(functions, 16);
	deep = jp_truth_path(functions, 300);
	for (uint64_t i = 0; i < 100000; i++)
		put_activation(1000 + i * 100, 1090 + i * 100, i % 2 ? shallow : deep, roots);
}

/* Finds samples in order of time, deep ones, and in random order, in which the search hint is
 * useless. */
static void test_long_truth(void)
{
	uint64_t nr_found = 0, random = 1;
	uint32_t pid = truth->codes[0].pid;

	check(truth->nr_activations == 100000 && !truth->torn, "100,000 activations are read");
	for (unsigned kind = 0; kind < 3; kind++) {
		uint32_t depth = kind == 1 ? 300 : 16;

		for (uint64_t i = 0; i < 20000; i++) {
			uint64_t n =
				(kind == 2 ? check_random(&random) % 50000 : i) * 2 + (kind != 1);

			nr_found +=
				jp_truth_stack_at(truth, pid, pid, 1050 + n * 100, 10,
						  0x10000 + (depth - 1) * 64, SP - (depth - 1) * 48,
						  JP_CHAIN, &stack) == JP_STACK_FOUND &&
				stack.nr_whole == depth + 4;
		}
	}
	for (unsigned i = 0; i < 100000; i++)
		nr_found += find_code(pid, 0x10000 + i % 300 * 64 + 5, 5000) != NULL;
	check(nr_found == 160000, "every stack and every function is found");
}

TEST(truth_stack)
{
	static const struct truth_test tests[] = {
		{256, write_story, test_true_stacks},
		{256, write_misleading, test_misleading_cfi},
		{1 << 18, write_long_story, test_long_truth},
	};

	run_truth_tests(tests, sizeof(tests) / sizeof(*tests));
}
