// SPDX-License-Identifier: GPL-2.0-only
/* The loads of all jitdumps of a folder: by process, address and time, whatever the order of files.
 */
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

/* One dump, put together record by record. */
static struct {
	unsigned char bytes[2048];
	size_t size;
} dump;

static void put(const void *bytes, size_t size)
{
	memcpy(dump.bytes + dump.size, bytes, size);
	dump.size += size;
}

static void put_load(uint64_t addr, uint64_t index, const char *name, uint64_t time)
{
	struct jp_jitdump_load load = {.prefix = {JP_JITDUMP_LOAD, 0, time},
				       .pid = 5,
				       .tid = 5,
				       .vma = addr,
				       .code_addr = addr,
				       .code_size = 4,
				       .code_index = index};

	load.prefix.total_size = sizeof(load) + strlen(name) + 1 + 4;
	put(&load, sizeof(load));
	put(name, strlen(name) + 1);
	put("CODE", 4);
}

static void put_move(uint64_t to, uint64_t size, uint64_t index, uint64_t time)
{
	const struct jp_jitdump_move move = {
		.prefix = {JP_JITDUMP_MOVE, sizeof(move), time},
		.pid = 5,
		.tid = 5,
		.vma = to,
		.new_code_addr = to,
		.code_size = size,
		.code_index = index,
	};

	put(&move, sizeof(move));
}

static void begin_dump(void)
{
	const struct jp_jitdump_header header = {.magic = JP_JITDUMP_MAGIC,
						 .version = JP_JITDUMP_VERSION,
						 .total_size = sizeof(header),
						 .elf_mach = 62,
						 .pid = 6};

	dump.size = 0;
	put(&header, sizeof(header));
}

static const struct jp_code_load *load_at(const struct jp_code_loads *loads, uint64_t addr)
{
	for (size_t i = 0; i < loads->count; i++)
		if (loads->loads[i].addr == addr)
			return &loads->loads[i];
	return NULL;
}

/* Tables belong to the load behind them, and go with its code; a name goes with its index. */
static void moves(void)
{
	static const struct jp_jitdump_unwinding unwinding = {
		{JP_JITDUMP_UNWINDING_INFO, sizeof(unwinding) + 24, 1}, 24, 8, 24};
	static const struct jp_jitdump_debug lines = {
		{JP_JITDUMP_DEBUG_INFO, sizeof(lines), 1}, 0x1000, 0};
	const struct jp_code_load *first, *second, *moved;
	struct jp_code_loads loads;
	struct jp_error err = {""};

	begin_dump();
	put(&unwinding, sizeof(unwinding));
	put("sixteen letters.its head", 24);
	put(&lines, sizeof(lines));
	put_load(0x1000, 7, "first", 10);
	put_load(0x2000, 8, "second", 11);
	put_move(0x3000, 4, 7, 12);
	put_move(0x4000, 8, 7, 13);
	put_move(0x5000, 4, 8, 14);
	put_move(0x6000, 4, 99, 15);
	put_load(0x7000, 7, "again", 16);
	put_move(0x8000, 4, 7, 17);
	put("torn", 4);
	if (!scratch_write(scratch_path("jit-6.dump"), dump.bytes, dump.size) ||
	    !scratch_write(scratch_path("jit-7.dump"), "no dump", 7))
		exit(99);
	if (!check(!jp_code_loads_read(scratch, &loads, &err) && loads.count == 8 &&
			   loads.dumps == 2,
		   "loads and moves %s", err.text))
		return;
	first = load_at(&loads, 0x1000);
	check(first && first->eh_frame_size == 16 && first->tables == 24 &&
		      !memcmp(first->eh_frame, "sixteen letters.", 16) && first->pid == 5 &&
		      first->owner == 6,
	      "a function with its tables, without their index");
	second = load_at(&loads, 0x2000);
	check(second && !second->eh_frame && !second->tables, "the next one has none");
	moved = load_at(&loads, 0x3000);
	check(moved && !strcmp(moved->name, "first") && moved->code == first->code &&
		      moved->eh_frame == first->eh_frame && moved->eh_frame_size == 16,
	      "moved, with all it has");
	moved = load_at(&loads, 0x4000);
	check(moved && !strcmp(moved->name, "first") && !moved->code && !moved->eh_frame &&
		      !moved->eh_frame_size && moved->tables == 24,
	      "of another size it is other code");
	moved = load_at(&loads, 0x5000);
	check(moved && !strcmp(moved->name, "second") && !moved->eh_frame, "without tables");
	moved = load_at(&loads, 0x6000);
	check(moved && !*moved->name && !moved->code, "of an index that no load has");
	moved = load_at(&loads, 0x8000);
	check(moved && !strcmp(moved->name, "again"), "the last load of an index counts");
	check(loads.bad == 2 && strstr(loads.why.text, "/jit-6.dump: "), "two are bad: %s",
	      loads.why.text);
	jp_code_loads_free(&loads);
	unlink(scratch_path("jit-6.dump"));
	unlink(scratch_path("jit-7.dump"));
	check(!jp_code_loads_read(scratch, &loads, &err) && !loads.count && !loads.dumps,
	      "an empty folder");
	jp_code_loads_free(&loads);
	check(jp_code_loads_read(scratch_path("none"), &loads, &err) == -ENOENT && !loads.count,
	      "no folder: %s", err.text);
}

int main(void)
{
	struct jp_code_loads loads = {0};
	struct jp_error err = {""};
	unsigned int sorted = 0;

	check(scratch_make("jit-30.dump"), "a folder");
	moves();
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
