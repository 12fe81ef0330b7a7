// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the unwinder's tables: .eh_frame and .eh_frame_hdr of an ELF file or of a jitdump's
 * UNWINDING_INFO, with a made stack. The number of frames and the CPU time of each walk must stay
 * below a bound.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/format/elf/cfi_check.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/unwind/jit_cfi.h"
#include "harness/selftest/fuzz/fuzz.h"
#include "harness/selftest/support/made_events.h"
#include "harness/model/unwind/unwind.h"

enum {
	PID = 1,
	WORDS = 512, /* words of the made stack */
	/* most frames of a walk: a frame needs a word of the stack, unless registers suffice */
	ROOM = 2 * WORDS,
	STARTS = 24, /* addresses where a walk begins */
	CODE_MOST = 1 << 20,
	/* CPU time of one walk: a walk of ROOM frames takes some 10 us with sanitizers. */
	MILLISECONDS = 500,
};
#define BASE  UINT64_C(0x7f0000000000)
#define STACK UINT64_C(0x7ffc00000000)

static const char *const tables[] = {"harness/selftest/fuzz/corpus/emitted.eh_frame",
				     "harness/selftest/fuzz/corpus/expressions.eh_frame", NULL};

/* The head of an input, before the tables: addresses of the code and of the tables. */
struct head {
	uint64_t code_addr, code_size, frame_addr, index_size;
};

static uint64_t stack[WORDS];

/* Fills the stack with linked frame records that return into the code or to its ends. */
static void make_stack(const struct head *head)
{
	for (unsigned int i = 0; i < WORDS; i++)
		stack[i] = i % 2 ? BASE + head->code_addr + i * 7 % (head->code_size + 2)
				 : STACK + 8 * (i + 4 + i % 6);
}

static void walk_stack(struct jp_unwinder *unwinder, struct jp_replay *replay,
		       const struct head *head)
{
	static const enum jp_method methods[] = {JP_DUMP, JP_DUMP_FP, JP_DUMP_CFI};
	struct jp_regs regs = {.machine = jp_machine_find(EM_X86_64), .mask = UINT64_MAX};
	const struct jp_event event = MADE_EVENT(
		SAMPLE, PID, 9, .sample.regs = &regs, .sample.stack = (const unsigned char *)stack,
		.sample.stack_size = sizeof(stack), .sample.stack_asked = sizeof(stack));
	uint64_t capacity[ROOM];
	struct jp_unwound unwound;

	for (unsigned int i = 0; i < JP_REGS; i++)
		regs.r[i] = STACK + 16 * i;
	regs.r[7] = STACK;
	for (unsigned int start = 0; start < STARTS; start++) {
		regs.r[16] = BASE + head->code_addr + head->code_size * start / STARTS;
		for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
			uint64_t before = jp_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

			jp_unwind(unwinder, replay, &event, methods[i], capacity, ROOM, &unwound);
			if (unwound.count > ROOM || jp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before >
							    MILLISECONDS * JP_NS_PER_MS)
				abort();
		}
	}
}

static void map_code(struct jp_replay *replay, const struct head *head, const char *name)
{
	uint64_t page = head->code_addr & ~UINT64_C(0xfff);
	const struct jp_event event = MADE_EVENT(
		MAP, PID, 1, .map.addr = BASE + page,
		.map.len = head->code_addr - page + head->code_size + 0x1000, .map.pgoff = page,
		.map.prot = JP_PROT_READ | JP_PROT_EXEC, .map.name = name);

	if (jp_replay_apply(replay, &event))
		abort();
}

/* Walks by tables of an ELF file. */
static void walk_file(const struct head *head, const unsigned char *bytes, size_t size)
{
	const struct jp_elf_segment code = {head->code_addr, head->code_addr, head->code_size};
	const struct jp_cfi_section frame = {bytes, size - head->index_size, head->frame_addr};
	const struct jp_cfi_section index = {bytes + frame.size, head->index_size,
					     head->frame_addr + frame.size};
	struct jp_file_finder *finder;
	struct jp_replay *replay;
	struct jp_unwinder *unwinder;
	struct jp_elf_image image;
	char path[96];
	jp_cleanup_close int fd = -1;

	if (jp_elf_make_from_tables(EM_X86_64, &code, &frame, head->index_size ? &index : NULL,
				    &image, NULL))
		return;
	snprintf(path, sizeof(path), "%s/tables", fuzz_folder());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, image.bytes, image.size) != (ssize_t)image.size)
		abort();
	jp_elf_image_free(&image);
	replay = jp_replay_new();
	finder = jp_file_finder_new();
	unwinder = jp_unwinder_new(NULL, finder);
	map_code(replay, head, path);
	walk_stack(unwinder, replay, head);
	jp_unwinder_free(unwinder);
	jp_file_finder_free(finder);
	jp_replay_free(replay);
}

/* Walks by tables of a jitdump's second load at the same address. */
static void walk_jit(const struct head *head, const unsigned char *bytes, size_t size)
{
	static const unsigned char code[CODE_MOST];
	struct jp_code_load each[2] = {
		{.pid = PID, .time = 2, .addr = BASE + head->code_addr, .size = head->code_size},
		{.pid = PID, .time = 3, .addr = BASE + head->code_addr, .size = head->code_size},
	};
	const struct jp_code_loads loads = {.loads = each, .count = 2};
	struct jp_replay *replay = jp_replay_new();
	struct jp_unwinder *unwinder = jp_unwinder_new(NULL, NULL);
	struct jp_jit_cfi *jit;

	each[1].code = code;
	each[1].eh_frame = bytes;
	each[1].eh_frame_size = size - head->index_size;
	jit = jp_jit_cfi_new(&loads, EM_X86_64);
	jp_unwinder_jit(unwinder, jit);
	map_code(replay, head, "//anon");
	walk_stack(unwinder, replay, head);
	each[1].code = NULL; /* without code the unwinder cannot inspect call instructions */
	walk_stack(unwinder, replay, head);
	jp_unwinder_free(unwinder);
	jp_jit_cfi_free(jit);
	jp_replay_free(replay);
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct head head;

	if (size <= sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	bytes += sizeof(head);
	size -= sizeof(head);
	/* The unwinder gets the code's range from mappings, which are sane. */
	head.code_addr %= CODE_MOST;
	head.code_size %= CODE_MOST;
	head.code_size += !head.code_size;
	if (head.index_size > size)
		head.index_size %= size + 1;
	make_stack(&head);
	walk_file(&head, bytes, size);
	if (size > head.index_size)
		walk_jit(&head, bytes, size);
}

const struct fuzz_target fuzz_target = {
	.seeds = tables,
	.rounds = 750,
	.truncations = 100,
};
