/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jp_procmap;
struct jp_recorder;

/* Functions that write records which the kernel did not: of mappings, processes and names that are
 * older than the capture, in the layout of the sideband event. The session must be locked. */

/* Writes an MMAP2 record of @map. */
void jp_synthesize_map(struct jp_recorder *recorder, pid_t pid, const struct jp_procmap *map,
		       uint64_t time);
void jp_synthesize_fork(struct jp_recorder *recorder, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid,
			uint64_t time);
/* Writes a COMM record of @name. @exec: an exec set the name, and removed all earlier mappings. */
void jp_synthesize_comm(struct jp_recorder *recorder, pid_t pid, pid_t tid, const char *name,
			bool exec, uint64_t time);
void jp_synthesize_lost(struct jp_recorder *recorder, uint64_t lost, uint64_t time);
/* Reads the address range of the kernel's text from /proc/kallsyms, which is slow, once for this
 * process and its later children. */
void jp_synthesize_prepare(void);
/* Writes mapping records of the kernel's text and modules, if /proc/kallsyms shows addresses. */
void jp_synthesize_kernel(struct jp_recorder *recorder, uint64_t time);
