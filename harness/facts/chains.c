// SPDX-License-Identifier: GPL-2.0-only
/* Facts about callchains by frame pointers, sampled at chosen instructions. */
#include "harness/facts/read_chain.h"

#include <signal.h>

#include "harness/facts/test_region.h"

enum { BODY, ENTRY, PUSHED, RET, PLAIN, PLAIN_MIDDLE };

/* States the callchain at one instruction of a leaf function that a middle function calls
 * (code.h). */
static void walk_from_place(struct jp_answer *answer)
{
	const struct {
		const void *addr;
		jp_code middle, leaf;
	} places[] =
		{
			[BODY] = {jp_code_leaf_body, jp_code_middle, jp_code_leaf},
			[ENTRY] = {(const void *)jp_code_leaf, jp_code_middle, jp_code_leaf},
			[PUSHED] = {jp_code_leaf_pushed, jp_code_middle, jp_code_leaf},
			[RET] = {jp_code_leaf_ret, jp_code_middle, jp_code_leaf},
			[PLAIN] = {jp_code_plain_body, jp_code_middle, jp_code_plain},
			[PLAIN_MIDDLE] = {jp_code_leaf_body, jp_code_middle_plain, jp_code_leaf},
		},
	  *place = &places[answer->parameter];
	struct jp_watch watch;

	if (!jp_chain_open(&watch, place->addr, answer))
		return;
	jp_code_outer(place->middle, place->leaf);
	jp_answer_chain(answer, &watch);
}

enum { ZERO, UNMAPPED, ABSENT, NON_CANONICAL, CYCLE, UNALIGNED };

/* States how many addresses the callchain has if the frame pointer is invalid or unusual. */
static void count_chain_with_odd_frame_pointer(struct jp_answer *answer)
{
	static uint64_t cycle[2] = {0, 0x1234567};
	static struct __attribute__((packed)) {
		char odd;
		uint64_t frame[2];
	} data __attribute__((aligned(16))) = {0, {0, 0x1234567}};
	const uintptr_t frames[] = {
		[ZERO] = 0,
		[UNMAPPED] = (uintptr_t)jp_test_region_at(0),
		[ABSENT] = (uintptr_t)jp_test_region_at(0),
		[NON_CANONICAL] = UINT64_C(0x8000000000000000),
		[CYCLE] = (uintptr_t)cycle,
		[UNALIGNED] = (uintptr_t)&data + 1,
	};
	struct jp_watch watch;

	cycle[0] = (uintptr_t)cycle;
	if (answer->parameter == ABSENT)
		jp_test_region_map(answer, 0, 1, JP_RW);
	if (!jp_chain_open(&watch, jp_code_odd_body, answer))
		return;
	jp_code_frame = frames[answer->parameter];
	jp_code_outer(jp_code_middle, jp_code_odd);
	jp_answer_chain_length(answer, &watch);
}

/* States how many addresses the callchain has with 300 callers and attr.sample_max_stack =
 * @answer->parameter. */
static void walk_deep_chain(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(jp_code_deep_body);
	struct jp_watch watch;

	attr.sample_max_stack = (uint16_t)answer->parameter;
	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	jp_code_deep(300);
	jp_answer_chain_length(answer, &watch);
}

static void handle_trap(int number)
{
	jp_code_leaf();
}

static void walk_from_handler(struct jp_answer *answer)
{
	extern const char __executable_start[], etext[];
	struct sigaction act = {.sa_handler = handle_trap};
	struct jp_event event;
	struct jp_watch watch;
	uint64_t addr;

	/* jp_code_trap() raises the signal, so that the handler's caller, by the chain, is an
	 * instruction of known code. */
	sigaction(SIGTRAP, &act, NULL);
	if (!jp_chain_open(&watch, jp_code_leaf_body, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_trap);
	if (!jp_chain_next(&watch, &event, answer))
		return;
	jp_answer_list(answer);
	/* The chain should have the handler, the C library's signal return, and the interrupted
	 * instruction. */
	for (size_t i = 0; i < 6 && i < event.sample.nr_chain; i++) {
		addr = event.sample.chain[i];
		if (addr >= JP_CHAIN_MARKER)
			continue;
		if (jp_code_name(addr))
			jp_answer_text(answer, "%s", jp_code_name(addr));
		else
			jp_answer_text(answer, "%s",
				       addr >= (uint64_t)(uintptr_t)__executable_start &&
						       addr < (uint64_t)(uintptr_t)etext
					       ? "handler"
					       : "return from it");
		if (jp_code_name(addr) && jp_code_name(addr)[0] == 'o')
			return;
	}
}

static void walk_emitted_code(struct jp_answer *answer)
{
	const char *leaf = (const char *)jp_code_leaf;
	struct jp_watch watch;

	jp_test_region_map(answer, 0, 1, JP_RW);
	if (answer->missing[0])
		return;
	__builtin_memcpy(jp_test_region_at(0), leaf, jp_code_leaf_end - leaf);
	jp_test_region_protect(answer, 0, 1, JP_RX);
	if (!jp_chain_open(&watch, jp_test_region_at(0) + (jp_code_leaf_body - leaf), answer))
		return;
	jp_code_outer(jp_code_middle, (jp_code)(void *)jp_test_region_at(0));
	jp_answer_chain(answer, &watch);
}

static const struct jp_fact facts[] = {
	{"chain.leaf.body",
	 "outer calls middle, middle calls leaf, all with frame pointers; the chain in leaf's "
	 "body.",
	 .probe = walk_from_place, .parameter = BODY},
	{"chain.leaf.entry",
	 "outer calls middle, middle calls leaf, all with frame pointers; the chain at leaf's "
	 "first instruction (push %rbp).",
	 .probe = walk_from_place, .parameter = ENTRY},
	{"chain.leaf.pushed",
	 "outer calls middle, middle calls leaf, all with frame pointers; the chain at leaf's "
	 "second instruction (mov %rsp,%rbp).",
	 .probe = walk_from_place, .parameter = PUSHED},
	{"chain.leaf.ret",
	 "outer calls middle, middle calls leaf, all with frame pointers; the chain at leaf's "
	 "ret.",
	 .probe = walk_from_place, .parameter = RET},
	{"chain.leaf.without_frame",
	 "outer calls middle, middle calls a leaf without frame pointer; the chain in the "
	 "leaf's body.",
	 .probe = walk_from_place, .parameter = PLAIN},
	{"chain.middle.without_frame",
	 "outer calls a middle without frame pointer, which calls leaf; the chain in leaf's "
	 "body.",
	 .probe = walk_from_place, .parameter = PLAIN_MIDDLE},
	{"chain.frame.zero", "The frame pointer is 0; addresses in the chain.",
	 .probe = count_chain_with_odd_frame_pointer, .parameter = ZERO},
	{"chain.frame.unmapped",
	 "The frame pointer leads to unmapped memory; addresses in the chain.",
	 .probe = count_chain_with_odd_frame_pointer, .parameter = UNMAPPED},
	{"chain.frame.not_present",
	 "The frame pointer leads to a page that was never touched; addresses in the chain.",
	 .probe = count_chain_with_odd_frame_pointer, .parameter = ABSENT},
	{"chain.frame.non_canonical",
	 "The frame pointer is not a canonical address; addresses in the chain.",
	 .probe = count_chain_with_odd_frame_pointer, .parameter = NON_CANONICAL},
	{"chain.frame.cycle",
	 "The frame pointer leads to a frame that links to itself; addresses in the chain.",
	 .probe = count_chain_with_odd_frame_pointer, .parameter = CYCLE},
	{"chain.frame.unaligned",
	 "The frame pointer is odd, and the frame there has a caller and links to 0; addresses in "
	 "the chain.",
	 .probe = count_chain_with_odd_frame_pointer, .parameter = UNALIGNED},
	{"chain.deep",
	 "Samples a leaf below 300 callers; number of addresses in the chain with the limit "
	 "kernel.perf_event_max_stack.",
	 .probe = walk_deep_chain, .parameter = 0},
	{"chain.deep.max_stack",
	 "Samples a leaf below 300 callers with sample_max_stack=5; number of addresses in the "
	 "chain.",
	 .probe = walk_deep_chain, .parameter = 5},
	{"chain.signal_handler",
	 "middle raises a trap, whose signal handler calls leaf; the chain from leaf's body up "
	 "to outer.",
	 .probe = walk_from_handler},
	{"chain.emitted",
	 "middle calls a leaf in anonymous memory; the chain in the leaf's body, which is "
	 "\"elsewhere\".",
	 .probe = walk_emitted_code},
};
JP_REGISTER_ROWS(fact, facts);
