// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/read_chain.h"

#include <asm/hwcap.h>
#include <asm/perf_regs.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "harness/base/return_address.h"

/* The functions of code.h are in assembly, because facts depend on the order of their
 * instructions. */
__asm__(JP_CODE_MACROS);

__asm__(".macro frame\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	mov x29, sp\n"
	".endm\n"
	".macro return_from name\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	"	end \\name\n"
	".endm\n"
	".pushsection .text\n"
	"	begin outer\n"
	"	frame\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	blr x9\n"
	"	return_from outer\n"

	"	begin middle\n"
	"	frame\n"
	"	blr x0\n"
	"	return_from middle\n"

	"	begin middle_plain\n"
	"	stp xzr, x30, [sp, -16]!\n"
	"	blr x0\n"
	"	ldp xzr, x30, [sp], 16\n"
	"	ret\n"
	"	end middle_plain\n"

	"	begin signing\n"
	"	hint 25\n" /* paciasp */
	"	frame\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], 16\n"
	"	hint 29\n" /* autiasp */
	"	ret\n"
	"	end signing\n"

	"	begin leaf\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	label leaf_pushed\n"
	"	mov x29, sp\n"
	"	label leaf_body\n"
	"	nop\n"
	"	ldp x29, x30, [sp], 16\n"
	"	label leaf_ret\n"
	"	ret\n"
	"	end leaf\n"

	"	begin plain\n"
	"	mov x0, 0\n"
	"	label plain_body\n"
	"	nop\n"
	"	ret\n"
	"	end plain\n"
	".popsection\n");

/* Functions for facts about landing pads and nops: arm64 has one landing pad (bti c), and nops of
 * one length. */
__asm__(".pushsection .text\n"
	"	begin endbr\n"
	"	hint 34\n" /* bti c */
	"	frame\n"
	"	return_from endbr\n"

	"	begin nop5\n"
	"	nop\n"
	"	frame\n"
	"	return_from nop5\n"

	"	begin nop10\n"
	"	nop\n"
	"	nop\n"
	"	frame\n"
	"	return_from nop10\n"

	"	begin odd\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	adrp x29, jp_code_frame\n"
	"	ldr x29, [x29, :lo12:jp_code_frame]\n"
	"	label odd_body\n"
	"	nop\n"
	"	return_from odd\n"

	"	begin on_stack\n"
	"	stp x29, x30, [sp, -32]!\n"
	"	str x19, [sp, 16]\n"
	"	mov x19, sp\n"
	"	mov sp, x0\n"
	"	blr x1\n"
	"	mov sp, x19\n"
	"	ldr x19, [sp, 16]\n"
	"	ldp x29, x30, [sp], 32\n"
	"	ret\n"

	/* Raises SIGTRAP by kill(getpid(), SIGTRAP), not by brk: the handler would return to the
	 * same brk. 172 is getpid, 129 is kill, 5 is SIGTRAP. */
	"	begin trap\n"
	"	frame\n"
	"	mov x8, 172\n"
	"	svc 0\n"
	"	mov x1, 5\n"
	"	mov x8, 129\n"
	"	svc 0\n"
	"	return_from trap\n"

	"	begin deep\n"
	"	frame\n"
	"	cbz x0, 1f\n"
	"	sub x0, x0, 1\n"
	"	bl jp_code_deep\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	"1:\n"
	"	label deep_body\n"
	"	nop\n"
	"	return_from deep\n"
	".popsection\n");

/* The programs of code.h. System call 93 is exit, 214 is brk. */
__asm__(".pushsection .text\n"
	"	label brk\n"
	"	mov x0, 0\n"
	"	mov x8, 214\n"
	"	svc 0\n"
	"	mov x19, 3\n"
	"1:\n"
	"	add x0, x0, 4096\n"
	"	svc 0\n"
	"	subs x19, x19, 1\n"
	"	b.ne 1b\n"
	"	label exit\n"
	"	mov x8, 93\n"
	"	mov x0, 0\n"
	"	svc 0\n"
	"	end exit\n"
	"	end brk\n"
	".popsection\n");

const struct jp_code_registers jp_code_registers = {
	.ip = PERF_REG_ARM64_PC, .middle = PERF_REG_ARM64_X9, .name = "x9"};

uint64_t jp_code_interrupted(const void *ucontext)
{
	return ((const ucontext_t *)ucontext)->uc_mcontext.pc;
}

/* A middle function with a frame pointer that signs its return address. */
void jp_code_signing(void);

static bool is_signed(uint64_t word)
{
	return word != jp_return_address(word, UINT64_C(0x7f) << 48);
}

static void find_signatures(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(jp_code_leaf_body);
	bool in_chain = false, in_dump = false;
	struct jp_event event;
	struct jp_watch watch;
	/* The top of the dumped stack: the frame records of the leaf and of jp_code_signing(). */
	uint64_t words[4];

	if (!(getauxval(AT_HWCAP) & HWCAP_PACA)) {
		jp_answer_missing(answer, "a processor that signs return addresses");
		return;
	}
	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = sizeof(words);
	if (!jp_watch_open(&watch, &attr, JP_WATCH_PAGES, answer))
		return;
	/* Try several times: one signature in 128 is zero. It depends on the key, which stays, and
	 * on the stack pointer, which alloca() varies. */
	for (unsigned attempt = 0; attempt < 8; attempt++) {
		char *room = __builtin_alloca(16);

		__asm__ volatile("" : : "r"(room) : "memory");
		jp_code_outer(jp_code_signing, jp_code_leaf);
		if (!jp_chain_next(&watch, &event, answer))
			return;
		memcpy(words, event.sample.stack, sizeof(words));
		in_dump |= is_signed(words[3]);
		for (size_t i = 0; i < event.sample.nr_chain; i++)
			in_chain |= event.sample.chain[i] < JP_CHAIN_MARKER &&
				    is_signed(event.sample.chain[i]);
	}
	jp_answer_list(answer);
	jp_answer_text(answer, "chain %s", in_chain ? "signed" : "plain");
	jp_answer_text(answer, "dump %s", in_dump ? "signed" : "plain");
}

static const struct jp_fact facts[] = {
	{"chain.signature",
	 "middle signs its return address; whether addresses of the chain and of the dump are "
	 "signed.",
	 .probe = find_signatures},
};
JP_REGISTER_ROWS(fact, facts);
