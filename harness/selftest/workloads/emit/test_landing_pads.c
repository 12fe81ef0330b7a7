// SPDX-License-Identifier: GPL-2.0-only
/* Tests that each shape begins with a landing pad, where the processor can demand landing pads: in
 * memory with PROT_BTI of arm64 a call to any other instruction is fatal. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "harness/selftest/support/check.h"
#include "workloads/emit/shapes.h"
#include "workloads/emit/emitter.h"

#ifndef PROT_BTI
#define PROT_BTI 0x10 /* arch/arm64/include/uapi/asm/mman.h; other machines refuse it */
#endif

enum { SIZE = 1 << 16 };
static unsigned char *code;
static struct jp_path_step steps[2] = {{.loops_before = 1, .loops_after = 1, .repeat = 1}};

static void ignore_entry(void *context, uint64_t sp, uint64_t bp)
{
}

static sigjmp_buf stopped;

static void stop(int signal)
{
	siglongjmp(stopped, signal);
}

/* Runs the emitted function from its byte @offset on. Returns the signal that stopped it, or 0. */
static int run_function(size_t offset)
{
	const int signal = sigsetjmp(stopped, 1);

	if (signal)
		return signal;
	steps[0].code = (uintptr_t)code + offset;
	jp_arch_enter(steps, ignore_entry, NULL, NULL);
	return 0;
}

static bool protect_code(int protection)
{
	return !mprotect(code, SIZE, PROT_READ | PROT_EXEC | protection);
}

TEST(landing_pads)
{
	struct jp_emitted emitted;

	signal(SIGILL, stop);
	code = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!check(code != MAP_FAILED, "memory for code"))
		return;
	if (!protect_code(PROT_BTI)) {
		check(true, "landing pads # SKIP this machine demands none");
		return;
	}
	for (enum jp_shape shape = 0; shape < JP_SHAPES; shape++) {
		/* Without a next function a path cannot jump to it. */
		if (!jp_shape_ends(shape))
			continue;
		mprotect(code, SIZE, PROT_READ | PROT_WRITE);
		jp_shape_emit(shape, code, SIZE, &emitted);
		__builtin___clear_cache((char *)code, (char *)code + emitted.size);
		protect_code(PROT_BTI);
		check(run_function(0) == 0, "%s has a landing pad", jp_shape_text(shape));
	}
	check(run_function(4) == SIGILL, "the processor demands landing pads");
}
