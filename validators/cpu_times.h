/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The times of a clock's samples on each CPU, whatever thread ran there. Zero at first. */
struct jp_cpu_times {
	struct jp_cpu_time {
		uint32_t cpu;
		uint64_t time;
	} * times;
	size_t count, capacity;
};

/* Adds a sample. Returns 0 or -ENOMEM. */
int jp_cpu_times_add(struct jp_cpu_times *times, uint32_t cpu, uint64_t time);
/* Sorts the samples after the last jp_cpu_times_add(). */
void jp_cpu_times_sort(struct jp_cpu_times *times);
/* Returns the index of the first sample on @cpu, or on a later CPU, after @time. */
size_t jp_cpu_times_find_after(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time);
/* Returns the time of the first sample on @cpu after @time, or UINT64_MAX. */
uint64_t jp_cpu_times_get_next(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time);
void jp_cpu_times_free(struct jp_cpu_times *times);
