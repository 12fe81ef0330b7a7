/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <limits.h>
#include <stdint.h>

/* Stores the path of the running program. Returns 0 or -errno. */
int jp_image_program(char path[PATH_MAX]);
/* Records in the truth which file contains the code at @addr: device and inode as the kernel shows
 * them to this process, path @name, build id @build_id (hexadecimal; "": none). Returns 0 or
 * -errno. */
int jp_image_record(uint64_t addr, const char *name, const char *build_id);
/* Records the file of the running program as jp_image_record() does, with the data of its own ELF
 * headers. */
int jp_image_record_program(void);
/* Checks whether this process can open a mapped file through /proc/PID/map_files, as a watcher must
 * that attaches later and cannot use the file's path. Returns 0 or -errno. */
int jp_image_check_open(void);
#define JP_IMAGE_CLOSED "open of /proc/PID/map_files: EPERM (CAP_CHECKPOINT_RESTORE)"
