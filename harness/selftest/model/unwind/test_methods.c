// SPDX-License-Identifier: GPL-2.0-only
/* The ways of walking a stack, each on stacks made by hand: what it sees, and why it stops. */
#include <elf.h>

#include "harness/base/clock.h"
#include "harness/model/unwind/jit_cfi.h"
#include "harness/model/machine/machine.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "harness/model/unwind/unwind.h"
#include "workloads/emit/code.h"
#include "workloads/emit/eh_frame.h"

enum { RBP = 6, RSP = 7, RIP = 16, PID = 9, WORDS = 64, ROOM = 32, DEEP = 1024 };
#define CODE    UINT64_C(0x400000)
#define STACK   UINT64_C(0x10000)
#define MEMFD   UINT64_C(0x500000)
#define NO_FILE UINT64_C(0x510000)

static uint64_t stack[WORDS], capacity[ROOM];
static struct jp_regs regs;
static struct jp_event event;
static struct jp_replay *replay;
static struct jp_unwinder *unwinder;

static void map(uint64_t start, uint64_t end, uint32_t prot, const char *name)
{
	const struct jp_event made =
		MADE_EVENT(MAP, PID, 0, MADE_MAP(start, end - start, prot, name));

	jp_replay_apply(replay, &made);
}

/* A sample at @ip, its stack all zero. */
static void begin(uint64_t ip)
{
	memset(stack, 0, sizeof(stack));
	regs = (struct jp_regs){.machine = jp_machine_find(EM_X86_64),
				.known = 1u << RBP | 1u << RSP | 1u << RIP};
	regs.r[RIP] = ip;
	regs.r[RSP] = STACK;
	event = (struct jp_event)MADE_EVENT(SAMPLE, PID, 100, .sample.regs = &regs,
					    .sample.stack = (const unsigned char *)stack,
					    .sample.stack_size = sizeof(stack),
					    .sample.stack_asked = sizeof(stack));
}

/* A frame at word @at that leads to the one at word @next. */
static void frame(unsigned at, uint64_t next, uint64_t returns)
{
	stack[at] = next;
	stack[at + 1] = returns;
}

/* Tables of @shape; their size without the index, or 0. */
static size_t make_tables(enum jp_shape shape, struct jp_emitted *emitted,
			  unsigned char tables[JP_EH_FRAME_MOST])
{
	size_t index_size;
	int size = jp_shape_emit(shape, NULL, 0, emitted);

	if (!size)
		size = jp_eh_frame(emitted, tables, JP_EH_FRAME_MOST, &index_size);
	return size > 0 ? (size_t)size - index_size : 0;
}

static struct jp_unwound by(enum jp_method method)
{
	struct jp_unwound unwound;

	jp_unwind(unwinder, replay, &event, method, capacity, ROOM, &unwound);
	return unwound;
}

static bool is(enum jp_method method, uint32_t count, enum jp_unwind_stop stop)
{
	struct jp_unwound unwound = by(method);

	if (unwound.count == count && unwound.stop == stop)
		return true;
	printf("# %s: %u frames, stop %s at %llx\n", jp_method_name(method), unwound.count,
	       jp_unwind_stop_text(unwound.stop), (unsigned long long)unwound.where);
	return false;
}

static void test_names(void)
{
	check(jp_methods_parse("chain,dump") == JP_METHODS_USUAL &&
		      jp_methods_parse("dump_cfi") == 1u << JP_DUMP_CFI,
	      "methods by their names");
	check(!jp_methods_parse("") && !jp_methods_parse("dump,") && !jp_methods_parse("dumps") &&
		      !jp_methods_parse("dump,chain,dump") && !jp_methods_parse("dump_"),
	      "a list with what is none, or twice, is none");
}

static void test_calls(void)
{
	static const struct {
		const char *bytes;
		unsigned size;
		bool call;
	} codes[] = {
		{"\xe8\x01\x02\x03\x04", 5, true},         /* call near */
		{"\xff\xd0", 2, true},                     /* call rax */
		{"\x41\xff\xd3", 3, true},                 /* call r11 */
		{"\xff\x15\x01\x02\x03\x04", 6, true},     /* call [rip + ...] */
		{"\xff\x14\x25\x01\x02\x03\x04", 7, true}, /* call [...] */
		{"\xff\x54\x24\x08", 4, true},             /* call [rsp + 8] */
		{"\xff\x10", 2, true},                     /* call [rax] */
		{"\xff\xe0", 2, false},                    /* jmp rax */
		{"\xff\x14\x24\x90", 4, false},            /* call [rsp], and one more */
		{"\xe8\x01\x02\x03", 4, false},
		{"\x90\x90\x90\x90\x90\x90\x90", 7, false},
		{"", 0, false},
	};
	const struct jp_machine *machine = jp_machine_find(EM_X86_64);

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		check(machine->frames->after_call((const unsigned char *)codes[i].bytes,
						  codes[i].size) == codes[i].call,
		      "code %zu ends with %s", i, codes[i].call ? "a call" : "no call");
}

static void test_direct_calls(void)
{
	const struct jp_machine_frames *frames = jp_machine_find(EM_X86_64)->frames;
	int64_t distance = 0;

	check(frames->after_direct_call((const unsigned char *)"\x90\xe8\xfe\xff\xff\xff", 6,
					&distance) &&
		      distance == -2,
	      "a call near says how far");
	check(!frames->after_direct_call((const unsigned char *)"\x90\x90\x90\xff\xd0", 5,
					 &distance),
	      "a call of what a register holds does not");
	check(!frames->after_direct_call((const unsigned char *)"\xe8\x01\x02\x03", 4, &distance),
	      "nor does a part of one");
	check(frames->returns((const unsigned char *)"\xc3", 1) &&
		      frames->returns((const unsigned char *)"\xf3\xc3", 2) &&
		      frames->returns((const unsigned char *)"\xc2\x08", 2),
	      "ret, rep ret, ret 8 return");
	check(!frames->returns((const unsigned char *)"\xff\xe0", 2) &&
		      !frames->returns((const unsigned char *)"\xf3", 1) &&
		      !frames->returns((const unsigned char *)"", 0),
	      "a jump, a prefix, nothing do not");
}

static void test_frame_pointers(void)
{
	begin(CODE);
	regs.r[RBP] = STACK + 16;
	frame(2, STACK + 64, 0x700000); /* in no mapping */
	frame(8, 0, CODE + 8);
	check(is(JP_DUMP_FP, 3, JP_UNWIND_ROOT), "dump_fp asks for no mapping; bp 0 is the end");
	check(is(JP_DUMP, 2, JP_UNWIND_UNMAPPED), "dump stops at what is in no mapping");
	check(is(JP_DUMP_CFI, 1, JP_UNWIND_NO_CFI), "dump_cfi stops in code that comes without");
	frame(8, STACK + 20, CODE + 8);
	check(is(JP_DUMP_FP, 3, JP_UNWIND_BAD_FRAME), "unaligned, downwards: no frame");
	frame(8, STACK + sizeof(stack), CODE + 8);
	check(is(JP_DUMP_FP, 3, JP_UNWIND_DUMP_END) && by(JP_DUMP_FP).cut, "beyond a full dump");
	event.sample.stack_asked = 2 * sizeof(stack);
	check(is(JP_DUMP_FP, 3, JP_UNWIND_DUMP_SHORT) && !by(JP_DUMP_FP).cut,
	      "beyond one that ended early");
	frame(8, STACK + (64 << 20), CODE + 8);
	check(is(JP_DUMP_FP, 3, JP_UNWIND_BAD_FRAME), "farther than stacks grow: no frame");
	frame(8, STACK + 64, CODE + 8);
	check(is(JP_DUMP_FP, 3, JP_UNWIND_BAD_FRAME), "one that leads to itself: none");
	regs.r[RBP] = STACK + 19;
	check(is(JP_DUMP, 1, JP_UNWIND_BAD_FRAME), "an unaligned frame pointer: none");
	event.sample.stack = NULL;
	check(is(JP_DUMP, 1, JP_UNWIND_NO_DATA), "without a stack the address alone");
	event.sample.regs = NULL;
	check(is(JP_DUMP, 0, JP_UNWIND_NO_DATA), "without registers nothing");
}

/* Through memory of all kinds, up to what is no code. */
static void test_mappings(void)
{
	struct jp_unwound unwound;

	begin(CODE);
	regs.r[RBP] = STACK + 16;
	frame(2, STACK + 64, MEMFD + 8);
	frame(8, STACK + 256, CODE + 0x10000);
	check(is(JP_DUMP, 3, JP_UNWIND_ROOT), "a return address of 0 is the root");
	check(capacity[0] == CODE && capacity[1] == MEMFD + 8 && capacity[2] == CODE + 0x10000,
	      "anonymous and memfd code, and a call that a mapping ends with");
	frame(32, 1, 0x700000);
	unwound = by(JP_DUMP);
	check(unwound.count == 4 && unwound.stop == JP_UNWIND_UNMAPPED && unwound.where == 0x6fffff,
	      "an address in no mapping is listed and ends the walk");
	frame(32, 1, NO_FILE + 8);
	check(is(JP_DUMP, 4, JP_UNWIND_NO_ELF), "a file that is not to be had ends the walk");
	jp_unwind(unwinder, replay, &event, JP_DUMP, capacity, 2, &unwound);
	check(unwound.count == 2 && unwound.stop == JP_UNWIND_MAX,
	      "no more than there is room for");
}

static void test_chain(void)
{
	static const uint64_t chain[] = {JP_CONTEXT_KERNEL, UINT64_MAX - (1 << 20),
					 JP_CONTEXT_USER,   CODE,
					 CODE + 8,          CODE + 16};
	static const uint64_t chain_deferred[] = {JP_CONTEXT_USER_DEFERRED, 77};
	struct jp_unwound unwound;

	begin(CODE);
	event.sample.chain = chain;
	event.sample.nr_chain = sizeof(chain) / sizeof(*chain);
	jp_unwinder_max_stack(unwinder, 5);
	check(is(JP_CHAIN, 3, JP_UNWIND_KERNEL) && !by(JP_CHAIN).cut, "a chain, as it is");
	jp_unwinder_max_stack(unwinder, 4);
	check(is(JP_CHAIN, 3, JP_UNWIND_MAX_STACK) && by(JP_CHAIN).cut,
	      "the kernel's own frames count for the limit");
	jp_unwinder_max_stack(unwinder, 127);
	regs.r[RBP] = STACK + 16;
	frame(2, STACK + 64, CODE + 8);
	frame(8, 0, CODE + 16);
	unwound = by(JP_CHAIN);
	check(jp_unwind_chain_stop(unwinder, &event, &unwound) == JP_UNWIND_ROOT,
	      "the dump shows that the kernel met bp 0");
	frame(8, 12345, CODE + 16);
	check(jp_unwind_chain_stop(unwinder, &event, &unwound) == JP_UNWIND_BAD_FRAME,
	      "or a bp that is none");
	frame(8, STACK + 128, CODE + 16);
	check(jp_unwind_chain_stop(unwinder, &event, &unwound) == JP_UNWIND_KERNEL,
	      "but not why it ended where it could go on");
	frame(2, 12345, CODE + 8);
	check(jp_unwind_chain_stop(unwinder, &event, &unwound) == JP_UNWIND_KERNEL,
	      "nor why it went on where it could not");
	event.sample.stack_size = 0;
	check(jp_unwind_chain_stop(unwinder, &event, &unwound) == JP_UNWIND_KERNEL,
	      "an empty dump shows nothing");
	begin(CODE);
	event.sample.chain = chain_deferred;
	event.sample.nr_chain = 2;
	event.sample.chain_deferred = true;
	check(is(JP_CHAIN, 0, JP_UNWIND_NOT_CAME), "deferred, and never written");
	event.sample.deferred = chain + 3;
	event.sample.nr_deferred = 3;
	jp_unwinder_max_stack(unwinder, 2);
	check(is(JP_CHAIN, 3, JP_UNWIND_KERNEL) && by(JP_CHAIN).frames == chain + 3,
	      "what came has no limit of the sample's");
	jp_unwinder_max_stack(unwinder, 127);
}

/* The function that is sampled brings tables; it was called from code that a dump shows. */
static void test_tables(void)
{
	static unsigned char tables[JP_EH_FRAME_MOST], caller[16] = {[3] = 0xe8};
	struct jp_code_load each[2] = {
		{.pid = PID, .time = 10, .addr = CODE + 0x100},
		{.pid = PID, .time = 10, .addr = CODE + 0x8000, .size = 16, .code = caller},
	};
	const struct jp_code_loads loads = {.loads = each, .count = 2};
	struct jp_emitted emitted;
	struct jp_jit_cfi *jit;

	each[0].eh_frame_size = make_tables(JP_SHAPE_NO_FP, &emitted, tables);
	if (!check(each[0].eh_frame_size, "tables are made"))
		return;
	each[0].size = emitted.size;
	each[0].eh_frame = tables;
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	jp_unwinder_jit(unwinder, jit);
	begin(CODE + 0x100);
	regs.r[RBP] = STACK + 16;
	stack[0] = CODE + 0x8008;
	frame(2, 0, CODE + 0x9000);
	check(is(JP_DUMP_CFI, 2, JP_UNWIND_NO_CFI) && capacity[1] == CODE + 0x8008,
	      "the caller by the tables; it has none itself");
	check(is(JP_DUMP, 3, JP_UNWIND_ROOT) && capacity[1] == CODE + 0x8008 &&
		      capacity[2] == CODE + 0x9000,
	      "from there on by frame pointers");
	check(is(JP_DUMP_FP, 2, JP_UNWIND_ROOT) && capacity[1] == CODE + 0x9000,
	      "which miss it where it is not linked");
	event.time = 9;
	check(is(JP_DUMP_CFI, 1, JP_UNWIND_NO_CFI), "not before it was published");
	event.time = 100;
	caller[3] = 0x90;
	check(is(JP_DUMP, 1, JP_UNWIND_BAD_CFI) && by(JP_DUMP).where == CODE + 0x8008,
	      "what stands behind no call is no caller");
	stack[0] = CODE + 0x9008;
	check(is(JP_DUMP, 3, JP_UNWIND_ROOT), "where no dump shows the code it may be one");
	stack[0] = 0x700000;
	check(is(JP_DUMP, 1, JP_UNWIND_BAD_CFI), "in no mapping is none");
	stack[0] = 0x600010;
	check(is(JP_DUMP, 1, JP_UNWIND_BAD_CFI), "in one that is not executable neither");
	jp_unwinder_jit(unwinder, NULL);
	check(!jp_jit_cfi_bad(jit), "all tables are of use");
	jp_jit_cfi_free(jit);
	tables[4] = 1; /* no CIE any more */
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	check(!jp_jit_cfi_has_tables(jit, &each[0]) && jp_jit_cfi_bad(jit) == 1,
	      "bad ones are counted, and not used");
	jp_jit_cfi_free(jit);
	tables[4] = 0;
	each[0].size = UINT64_C(1) << 30; /* from its start on no distance has 32 bits */
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	check(!jp_jit_cfi_has_tables(jit, &each[0]) && jp_jit_cfi_bad(jit) == 1,
	      "nor those of a function that is too large");
	jp_jit_cfi_free(jit);
}

/* The least of some runs of @method over @frames frames, in ps each. */
static uint64_t cost(enum jp_method method, uint32_t frames, uint64_t *into)
{
	uint64_t least = UINT64_MAX;

	for (int run = 0; run < 40; run++) {
		uint64_t spent, start = jp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		struct jp_unwound unwound;

		for (uint32_t done = 0; done < DEEP; done += frames)
			jp_unwind(unwinder, replay, &event, method, into, frames, &unwound);
		spent = jp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		if (unwound.count != frames)
			return 0;
		least = spent < least ? spent : least;
	}
	return least * 1000 / DEEP;
}

/* A recursion of one function, called from one place, by its tables and by frame pointers. */
static void test_depth(void)
{
	static unsigned char tables[JP_EH_FRAME_MOST];
	static uint64_t deep[8192], into[DEEP];
	struct jp_code_load load = {.pid = PID, .time = 10, .addr = CODE};
	const struct jp_code_loads loads = {.loads = &load, .count = 1};
	const struct jp_truth_insn *at = NULL;
	struct jp_emitted emitted;
	struct jp_jit_cfi *jit;

	load.eh_frame_size = make_tables(JP_SHAPE_FP, &emitted, tables);
	for (uint32_t i = 0; load.eh_frame_size && i < emitted.nr_insns; i++)
		if (emitted.insns[i].bp & JP_INSN_RETURN)
			at = &emitted.insns[i];
	if (!check(at, "there is a call to return to"))
		return;
	load.size = emitted.size;
	load.eh_frame = tables;
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	begin(CODE + at->offset);
	for (uint64_t entry = (at->pre + at->post) / 8, next; entry < 8192; entry = next) {
		next = entry + 1 + (at->pre + at->post) / 8;
		deep[entry] = CODE + at->offset;
		deep[entry - 1] = STACK + 8 * (next - 1);
	}
	regs.r[RBP] = STACK + at->pre + at->post - 8;
	event.sample.stack = (const unsigned char *)deep;
	event.sample.stack_size = event.sample.stack_asked = sizeof(deep);
	for (int with = 0; with < 2; with++) {
		enum jp_method method = with ? JP_DUMP_CFI : JP_DUMP;
		uint64_t few, many;

		jp_unwinder_jit(unwinder, with ? jit : NULL);
		few = cost(method, 16, into);
		many = cost(method, DEEP, into);
		printf("# ps a frame of 16: %llu, of %d: %llu\n", (unsigned long long)few, DEEP,
		       (unsigned long long)many);
		check(few && many && many < 2 * few, "%s: no slower per frame as stacks get deeper",
		      jp_method_name(method));
	}
	jp_unwinder_jit(unwinder, NULL);
	jp_jit_cfi_free(jit);
}

int main(void)
{
	replay = jp_replay_new();
	unwinder = jp_unwinder_new(NULL, NULL);
	map(CODE, CODE + 0x10000, JP_PROT_READ | JP_PROT_EXEC, "//anon");
	map(0x600000, 0x601000, JP_PROT_READ, "//anon");
	map(MEMFD, MEMFD + 0x1000, JP_PROT_READ | JP_PROT_EXEC, "/memfd:doublemapper (deleted)");
	map(NO_FILE, NO_FILE + 0x1000, JP_PROT_READ | JP_PROT_EXEC, "/no/such/file");
	test_names();
	test_calls();
	test_direct_calls();
	test_frame_pointers();
	test_mappings();
	test_chain();
	test_tables();
	test_depth();
	jp_unwinder_free(unwinder);
	jp_replay_free(replay);
	return check_done();
}
