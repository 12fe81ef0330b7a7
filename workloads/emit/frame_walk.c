// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/frame_walk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness/base/return_address.h"
#include "workloads/emit/arch.h"

struct used_stack {
	uintptr_t low, high;
};

/* Returns the used part of this thread's stack. It is empty if we run on another stack. */
static struct used_stack find_used_stack(void)
{
	static _Thread_local struct used_stack whole;
	static _Thread_local bool is_known;
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	pthread_attr_t attributes;
	void *low;
	size_t size;

	if (!is_known && !pthread_getattr_np(pthread_self(), &attributes)) {
		if (!pthread_attr_getstack(&attributes, &low, &size))
			whole = (struct used_stack){(uintptr_t)low, (uintptr_t)low + size};
		pthread_attr_destroy(&attributes);
	}
	is_known = true;
	return frame >= whole.low && frame < whole.high ? (struct used_stack){frame, whole.high}
							: (struct used_stack){0};
}

/* Reads @count frame records. A record outside our stack may be unmapped: read it by a system call,
 * as if it belonged to another process, so that it causes no signal. Inside, save the call: it is
 * slow, and security modules of the kernel run in it. */
static ssize_t read_records(const uint64_t *first_record, uintptr_t (*frames)[2], uint32_t count)
{
	const struct used_stack stack = find_used_stack();
	struct iovec local = {frames, count * sizeof(*frames)}, remote[16];
	bool is_inside = true;

	for (uint32_t i = 0; i < count; i++) {
		const uintptr_t record = first_record[i] - jp_arch_elf.fp_above;

		remote[i] = (struct iovec){(void *)record, sizeof(*frames)};
		is_inside &= record >= stack.low && record < stack.high &&
			     stack.high - record >= sizeof(*frames);
	}
	for (uint32_t i = 0; is_inside && i < count; i++)
		memcpy(frames + i, remote[i].iov_base, sizeof(*frames));
	if (is_inside)
		return (ssize_t)local.iov_len;
	/* Pass the id of this thread, not of the process: once the main thread has exited, the
	 * process's id leads to no address space. */
	return process_vm_readv(syscall(SYS_gettid), &local, 1, remote, count, 0);
}

uint32_t jp_frame_read(const uint64_t *first_record, uintptr_t (*frames)[2], uint32_t count)
{
	const ssize_t nr_read = read_records(first_record, frames, count);

	if (nr_read < 0 && errno != EFAULT) {
		fprintf(stderr, "jitproof workload: process_vm_readv on itself: %s\n",
			strerror(errno));
		exit(EXIT_FAILURE);
	}
	count = nr_read < 0 ? 0 : nr_read / sizeof(*frames);
	for (uint32_t i = 0; i < count; i++)
		frames[i][1] = jp_return_address(frames[i][1], jp_arch_elf.signature);
	return count;
}

bool jp_frame_read_next(uint64_t fp, uint64_t previous_fp, uintptr_t (*frame)[2])
{
	return jp_arch_accepts_frame(fp, previous_fp) && jp_frame_read(&fp, frame, 1) == 1 &&
	       (frame[0][1] || !jp_arch_elf.zero_ends);
}

void jp_frame_walk(uint64_t fp, struct jp_frame_walk *walk)
{
	uintptr_t frame[1][2];
	uint64_t previous_fp = 0;

	walk->count = 0;
	while (walk->count < JP_WALK_MOST && jp_frame_read_next(fp, previous_fp, frame)) {
		walk->records[walk->count] = previous_fp = fp;
		walk->addresses[walk->count++] = frame[0][1];
		fp = frame[0][0];
	}
	walk->end = fp;
}
