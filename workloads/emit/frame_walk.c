// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/frame_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness/base/return_address.h"
#include "workloads/emit/arch.h"

/* Reads our own memory by a system call, as if it belonged to another process, so that an unmapped
 * address causes no signal. */
uint32_t jp_frame_read(const uint64_t *at, uintptr_t (*frames)[2], uint32_t count)
{
	struct iovec to = {frames, count * sizeof(*frames)}, from[16];
	ssize_t got;

	for (uint32_t i = 0; i < count; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)(at[i] - jp_arch_elf.fp_above),
					 sizeof(*frames)};
	/* Pass the id of this thread, not of the process: once the main thread has exited, the
	 * process's id leads to no address space. */
	got = process_vm_readv(syscall(SYS_gettid), &to, 1, from, count, 0);
	if (got < 0 && errno != EFAULT) {
		fprintf(stderr, "jitproof workload: process_vm_readv on itself: %s\n",
			strerror(errno));
		exit(EXIT_FAILURE);
	}
	count = got < 0 ? 0 : got / sizeof(*frames);
	for (uint32_t i = 0; i < count; i++)
		frames[i][1] = jp_return_address(frames[i][1], jp_arch_elf.signature);
	return count;
}

bool jp_frame_follow(uint64_t fp, uint64_t from, uintptr_t (*frame)[2])
{
	return jp_arch_accepts_frame(fp, from) && jp_frame_read(&fp, frame, 1) == 1 &&
	       (frame[0][1] || !jp_arch_elf.zero_ends);
}

void jp_frame_walk(uint64_t fp, struct jp_frame_walk *walk)
{
	uintptr_t frame[1][2];
	uint64_t from = 0;

	walk->count = 0;
	while (walk->count < JP_WALK_MOST && jp_frame_follow(fp, from, frame)) {
		walk->at[walk->count] = from = fp;
		walk->addresses[walk->count++] = frame[0][1];
		fp = frame[0][0];
	}
	walk->end = fp;
}
