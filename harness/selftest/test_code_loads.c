// SPDX-License-Identifier: GPL-2.0-only
/* The loads of all jitdumps of a folder: by process, address and time, whatever the order of files.
 */
#include <string.h>
#include <unistd.h>

#include "harness/format/jit/code_loads.h"
#include "harness/format/jit/jitdump_format.h"
#include "harness/selftest/check.h"
#include "harness/selftest/scratch.h"

/* Two functions, the higher one first, and the lower one once more. */
static void make(uint32_t pid, uint64_t first)
{
	static const struct {
		uint64_t addr, later;
	} loads[] = {{0x2000, 0}, {0x1000, 2}, {0x1000, 1}};
	struct jp_jitdump_header header = {.magic = JP_JITDUMP_MAGIC,
					   .version = JP_JITDUMP_VERSION,
					   .total_size = sizeof(header),
					   .elf_mach = 62,
					   .pid = pid};
	char bytes[1024], file[64];
	size_t size = sizeof(header);

	memcpy(bytes, &header, sizeof(header));
	for (int i = 0; i < 3; i++) {
		struct jp_jitdump_load load = {
			.prefix = {JP_JITDUMP_LOAD, 0, first + loads[i].later},
			.pid = pid,
			.tid = pid,
			.vma = loads[i].addr,
			.code_addr = loads[i].addr,
			.code_size = 4,
			.code_index = i};

		load.prefix.total_size = sizeof(load) + sizeof("name") + 4;
		memcpy(bytes + size, &load, sizeof(load));
		memcpy(bytes + size + sizeof(load), "name\0CODE", sizeof("name") + 4);
		size += load.prefix.total_size;
	}
	snprintf(file, sizeof(file), "jit-%u.dump", pid);
	check(scratch_write(scratch_path(file), bytes, size), "%s is written", file);
}

int main(void)
{
	struct jp_code_loads loads = {0};
	struct jp_error err = {""};
	unsigned int sorted = 0;

	check(scratch_make("jit-30.dump"), "a folder");
	make(30, 100);
	make(4, 300);
	make(200, 200);
	if (!check(jp_code_loads_read(scratch, &loads, &err) == 0 && loads.count == 9 &&
			   loads.dumps == 3 && !loads.bad,
		   "nine loads of three dumps %s", err.text))
		return check_done();
	for (size_t i = 1; i < loads.count; i++) {
		const struct jp_code_load *one = &loads.loads[i - 1], *next = one + 1;

		sorted += one->pid != next->pid     ? one->pid < next->pid
			  : one->addr != next->addr ? one->addr < next->addr
						    : one->time < next->time;
	}
	check(sorted == 8 && loads.loads[0].pid == 4 && loads.loads[8].pid == 200,
	      "by process, address and time");
	check(loads.loads[0].time == 301 && loads.loads[1].time == 302 &&
		      loads.loads[2].addr == 0x2000 && strcmp(loads.loads[2].name, "name") == 0 &&
		      memcmp(loads.loads[2].code, "CODE", 4) == 0,
	      "each with what its dump says");
	jp_code_loads_free(&loads);
	return check_done();
}
