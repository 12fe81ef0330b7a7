// SPDX-License-Identifier: GPL-2.0-only
/* Tests each method of unwinding on stacks made by hand: its frames and why it stops. */
#include <elf.h>

#include "harness/base/clock.h"
#include "harness/model/unwind/jit_cfi.h"
#include "harness/model/machine/machine.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "harness/model/unwind/unwind.h"
#include "workloads/emit/shapes.h"
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

static void add_map(uint64_t start, uint64_t end, uint32_t prot, const char *name)
{
	const struct jp_event made =
		MADE_EVENT(MAP, PID, 0, MADE_MAP(start, end - start, prot, name));

	jp_replay_apply(replay, &made);
}

/* Begins a sample at @ip with a zeroed stack. */
static void begin_sample(uint64_t ip)
{
	memset(stack, 0, sizeof(stack));
	regs = (struct jp_regs){.machine = jp_machine_find(EM_X86_64),
				.mask = 1u << RBP | 1u << RSP | 1u << RIP};
	regs.r[RIP] = ip;
	regs.r[RSP] = STACK;
	event = (struct jp_event)MADE_EVENT(SAMPLE, PID, 100, .sample.regs = &regs,
					    .sample.stack = (const unsigned char *)stack,
					    .sample.stack_size = sizeof(stack),
					    .sample.stack_asked = sizeof(stack));
}

/* Puts a frame record at word @index. */
static void put_frame(unsigned index, uint64_t next, uint64_t returns)
{
	stack[index] = next;
	stack[index + 1] = returns;
}

/* Makes the tables of @shape. Returns their size without the index, or 0. */
static size_t make_tables(enum jp_shape shape, struct jp_emitted *emitted,
			  unsigned char tables[JP_EH_FRAME_MOST])
{
	size_t index_size;
	int size = jp_shape_emit(shape, NULL, 0, emitted);

	if (!size)
		size = jp_eh_frame(emitted, tables, JP_EH_FRAME_MOST, &index_size);
	return size > 0 ? (size_t)size - index_size : 0;
}

static struct jp_unwound unwind_by(enum jp_method method)
{
	struct jp_unwound unwound;

	jp_unwind(unwinder, replay, &event, method, capacity, ROOM, &unwound);
	return unwound;
}

static bool unwinds_to(enum jp_method method, uint32_t count, enum jp_unwind_stop stop)
{
	struct jp_unwound unwound = unwind_by(method);

	if (unwound.count == count && unwound.stop == stop)
		return true;
	printf("# %s: %u frames, stop %s at %llx\n", jp_method_name(method), unwound.count,
	       jp_unwind_stop_text(unwound.stop), (unsigned long long)unwound.stop_addr);
	return false;
}

TEST(mappings)
{
	replay = jp_replay_new();
	unwinder = jp_unwinder_new(NULL, NULL);
	add_map(CODE, CODE + 0x10000, JP_PROT_READ | JP_PROT_EXEC, "//anon");
	add_map(0x600000, 0x601000, JP_PROT_READ, "//anon");
	add_map(MEMFD, MEMFD + 0x1000, JP_PROT_READ | JP_PROT_EXEC,
		"/memfd:doublemapper (deleted)");
	add_map(NO_FILE, NO_FILE + 0x1000, JP_PROT_READ | JP_PROT_EXEC, "/no/such/file");
}

TEST(names)
{
	check(jp_methods_parse("chain,dump") == JP_METHODS_USUAL &&
		      jp_methods_parse("dump_cfi") == 1u << JP_DUMP_CFI,
	      "methods are parsed by name");
	check(!jp_methods_parse("") && !jp_methods_parse("dump,") && !jp_methods_parse("dumps") &&
		      !jp_methods_parse("dump,chain,dump") && !jp_methods_parse("dump_"),
	      "unknown and repeated methods are refused");
}

TEST(call_instructions)
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
		{"\xff\x14\x24\x90", 4, false},            /* call [rsp], and another instruction */
		{"\xe8\x01\x02\x03", 4, false},
		{"\x90\x90\x90\x90\x90\x90\x90", 7, false},
		{"", 0, false},
	};
	const struct jp_machine *machine = jp_machine_find(EM_X86_64);

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		check(machine->frames->follows_call((const unsigned char *)codes[i].bytes,
						    codes[i].size) == codes[i].call,
		      "code %zu: ends with %s", i, codes[i].call ? "a call" : "no call");
}

TEST(direct_calls)
{
	const struct jp_machine_frames *frames = jp_machine_find(EM_X86_64)->frames;
	int64_t distance = 0;

	check(frames->follows_direct_call((const unsigned char *)"\x90\xe8\xfe\xff\xff\xff", 6,
					  &distance) &&
		      distance == -2,
	      "a near call has a distance");
	check(!frames->follows_direct_call((const unsigned char *)"\x90\x90\x90\xff\xd0", 5,
					   &distance),
	      "a call through a register has none");
	check(!frames->follows_direct_call((const unsigned char *)"\xe8\x01\x02\x03", 4, &distance),
	      "a part of a call has none");
	check(frames->returns((const unsigned char *)"\xc3", 1) &&
		      frames->returns((const unsigned char *)"\xf3\xc3", 2),
	      "ret and rep ret are returns");
	check(!frames->returns((const unsigned char *)"\xff\xe0", 2) &&
		      !frames->returns((const unsigned char *)"\xf3", 1) &&
		      !frames->returns((const unsigned char *)"", 0),
	      "a jump, a prefix alone and nothing are not");
}

/* The sampled function has tables; a jitdump has the code of its caller. */
TEST(tables)
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
	begin_sample(CODE + 0x100);
	regs.r[RBP] = STACK + 16;
	stack[0] = CODE + 0x8008;
	put_frame(2, 0, CODE + 0x9000);
	check(unwinds_to(JP_DUMP_CFI, 2, JP_UNWIND_NO_CFI) && capacity[1] == CODE + 0x8008,
	      "dump_cfi finds the caller, which has no tables");
	check(unwinds_to(JP_DUMP, 3, JP_UNWIND_ROOT) && capacity[1] == CODE + 0x8008 &&
		      capacity[2] == CODE + 0x9000,
	      "dump continues by frame pointers");
	check(unwinds_to(JP_DUMP_FP, 2, JP_UNWIND_ROOT) && capacity[1] == CODE + 0x9000,
	      "dump_fp misses the caller that is not linked");
	event.time = 9;
	check(unwinds_to(JP_DUMP_CFI, 1, JP_UNWIND_NO_CFI), "unpublished tables are not used");
	event.time = 100;
	caller[3] = 0x90;
	check(unwinds_to(JP_DUMP, 1, JP_UNWIND_BAD_CFI) &&
		      unwind_by(JP_DUMP).stop_addr == CODE + 0x8008,
	      "an address not behind a call is no caller");
	stack[0] = CODE + 0x9008;
	check(unwinds_to(JP_DUMP, 3, JP_UNWIND_ROOT), "an address in unknown code may be a caller");
	stack[0] = 0x700000;
	check(unwinds_to(JP_DUMP, 1, JP_UNWIND_BAD_CFI), "an unmapped address is no caller");
	stack[0] = 0x600010;
	check(unwinds_to(JP_DUMP, 1, JP_UNWIND_BAD_CFI), "an address of data is no caller");
	jp_unwinder_jit(unwinder, NULL);
	check(!jp_jit_cfi_count_bad(jit), "no tables are bad");
	jp_jit_cfi_free(jit);
	tables[4] = 1; /* the first record is now no CIE */
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	check(!jp_jit_cfi_has_tables(jit, &each[0]) && jp_jit_cfi_count_bad(jit) == 1,
	      "bad tables are counted and not used");
	jp_jit_cfi_free(jit);
	tables[4] = 0;
	each[0].size = UINT64_C(1) << 30; /* too large for distances of 32 bits */
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	check(!jp_jit_cfi_has_tables(jit, &each[0]) && jp_jit_cfi_count_bad(jit) == 1,
	      "tables of a too large function are not used");
	jp_jit_cfi_free(jit);
}

/* Returns the least time of some runs of @method over @frames frames, in ps per frame. */
static uint64_t measure_frame(enum jp_method method, uint32_t frames, uint64_t *chain)
{
	uint64_t min = UINT64_MAX;

	for (int run = 0; run < 40; run++) {
		uint64_t spent, start = jp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		struct jp_unwound unwound;

		for (uint32_t nr_walked = 0; nr_walked < DEEP; nr_walked += frames)
			jp_unwind(unwinder, replay, &event, method, chain, frames, &unwound);
		spent = jp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		if (unwound.count != frames)
			return 0;
		min = spent < min ? spent : min;
	}
	return min * 1000 / DEEP;
}

TEST(deep_stacks)
{
	static unsigned char tables[JP_EH_FRAME_MOST];
	static uint64_t deep[8192], chain[DEEP];
	struct jp_code_load load = {.pid = PID, .time = 10, .addr = CODE};
	const struct jp_code_loads loads = {.loads = &load, .count = 1};
	const struct jp_truth_insn *call = NULL;
	struct jp_emitted emitted;
	struct jp_jit_cfi *jit;

	load.eh_frame_size = make_tables(JP_SHAPE_FP, &emitted, tables);
	for (uint32_t i = 0; load.eh_frame_size && i < emitted.nr_insns; i++)
		if (emitted.insns[i].bp & JP_INSN_RETURN)
			call = &emitted.insns[i];
	if (!check(call, "the function has a call"))
		return;
	load.size = emitted.size;
	load.eh_frame = tables;
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	begin_sample(CODE + call->offset);
	for (uint64_t entry = (call->pre + call->post) / 8, next; entry < 8192; entry = next) {
		next = entry + 1 + (call->pre + call->post) / 8;
		deep[entry] = CODE + call->offset;
		deep[entry - 1] = STACK + 8 * (next - 1);
	}
	regs.r[RBP] = STACK + call->pre + call->post - 8;
	event.sample.stack = (const unsigned char *)deep;
	event.sample.stack_size = event.sample.stack_asked = sizeof(deep);
	for (int with = 0; with < 2; with++) {
		enum jp_method method = with ? JP_DUMP_CFI : JP_DUMP;
		uint64_t few, many;

		jp_unwinder_jit(unwinder, with ? jit : NULL);
		few = measure_frame(method, 16, chain);
		many = measure_frame(method, DEEP, chain);
		printf("# ps a frame of 16: %llu, of %d: %llu\n", (unsigned long long)few, DEEP,
		       (unsigned long long)many);
		check(few && many && many < 2 * few, "%s: deep stacks take no more time per frame",
		      jp_method_name(method));
	}
	jp_unwinder_jit(unwinder, NULL);
	jp_jit_cfi_free(jit);
	jp_unwinder_free(unwinder);
	jp_replay_free(replay);
}
