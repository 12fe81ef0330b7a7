// SPDX-License-Identifier: GPL-2.0-only
/* Code that uses the frame pointer's register for other data, as code built without frame pointers
 * does. The kernel's walk by frame pointers then reads nothing, a cycle, a chain that leads
 * downwards, or data. */
#include "workloads/emit/arch.h"
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* Fake frame records: {next, "return address"} each. */
static uint64_t cycle[2][2], down[4][2], data[16];

/* Returns the value of the frame pointer with which a walk reads @record. */
static uint64_t point_to(const uint64_t *record)
{
	return (uintptr_t)record + jp_arch_elf.fp_above;
}

static void fill_frames(void)
{
	for (int i = 0; i < 2; i++) {
		cycle[i][0] = point_to(cycle[!i]);
		cycle[i][1] = (uintptr_t)fill_frames + i; /* looks like a return address */
	}
	for (int i = 0; i < 4; i++) {
		down[i][0] = i ? point_to(down[i - 1]) : 0;
		down[i][1] = (uintptr_t)fill_frames + 16 + i;
	}
	/* Avoid words that are no addresses but have bits of a pointer signature, because kernels
	 * of arm64 differ: 6.1 clears or sets bits 48 and up, 6.12 lets the processor do so, if it
	 * can and as far as its addresses reach (ptrauth_strip_user_insn_pac(), asm/compiler.h). */
	for (int i = 0; i < 16; i++)
		data[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1) &
			  ~(jp_arch_elf.signature | jp_arch_elf.signature << 1);
}

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_OTHER_BP, JP_SHAPE_LONG,
			   JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_OTHER_BP, JP_SHAPE_LEAF},
		.word = 0x1000};
	static const char *const emitted[] = {"fofe", "loN", "fFono", NULL};
	static const char *const native[] = {"fOfe", "OlONfO", NULL};
	/* Values for the frame pointer: zero, a number, an invalid address, and the fake frames. */
	const uint64_t words[] = {0,
				  40961,
				  0xdeadbeefcafebabe,
				  point_to(cycle[0]),
				  point_to(down[3]),
				  point_to(&data[2])};
	static struct jp_mix mix;
	int ret = jp_mix_open_with_library(&mix, &kind);

	fill_frames();
	for (size_t i = 0; i < sizeof(words) / sizeof(*words) && !ret; i++)
		ret = jp_mix_paths(&mix, emitted, words[i]);
	return jp_mix_run(argv[0], &mix, NULL, ret ?: jp_mix_paths(&mix, native, 0));
}

JP_DEFINE(workload, bad_chain) = {
	.name = "bad_chain",
	.help = "the frame pointer register holds no frame pointer: zero, a number, a cycle, data",
	.run = run,
};
