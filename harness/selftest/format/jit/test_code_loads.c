// SPDX-License-Identifier: GPL-2.0-only
/* Reading the loads of all jitdumps of a folder, sorted by process, address and time. */
#include "harness/format/jit/code_loads.h"
#include "harness/selftest/support/made_jitdump.h"

/* Stores a dump of two functions, the higher first, with the lower loaded twice. */
static void store_dump(uint32_t pid, uint64_t first)
{
	struct jitdump_made dump = {.size = 0};
	char file[64];

	jitdump_made_header(&dump, pid);
	jitdump_made_load(&dump, 0x2000, 0, "name", first);
	jitdump_made_load(&dump, 0x1000, 1, "name", first + 2);
	jitdump_made_load(&dump, 0x1000, 2, "name", first + 1);
	snprintf(file, sizeof(file), "jit-%u.dump", pid);
	jitdump_made_store(&dump, scratch_path(file));
}

static const struct jp_code_load *find_load(const struct jp_code_loads *loads, uint64_t addr)
{
	for (size_t i = 0; i < loads->count; i++)
		if (loads->loads[i].addr == addr)
			return &loads->loads[i];
	return NULL;
}

/* Unwinding tables and lines belong to the next load record and move with the code of that load; a
 * moved function is found by its index, and keeps its name. */
static void test_moves(void)
{
	static const struct jp_jitdump_unwinding unwinding = {
		{JP_JITDUMP_UNWINDING_INFO, 0, 1}, 24, 8, 24};
	static const struct jp_jitdump_debug lines = {{JP_JITDUMP_DEBUG_INFO, 0, 1}, 0x1000, 0};
	const struct jp_code_load *first, *second, *moved_code;
	struct jitdump_made dump = {.size = 0};
	struct jp_code_loads loads;
	struct jp_error err = {""};

	jitdump_made_header(&dump, 6);
	dump.pid = 5;
	jitdump_made_record(&dump, &unwinding, sizeof(unwinding), "sixteen letters.its head", 24);
	jitdump_made_record(&dump, &lines, sizeof(lines), NULL, 0);
	jitdump_made_load(&dump, 0x1000, 7, "first", 10);
	jitdump_made_load(&dump, 0x2000, 8, "second", 11);
	jitdump_made_move(&dump, 0x3000, 5, 7, 12);
	jitdump_made_move(&dump, 0x4000, 8, 7, 13);
	jitdump_made_move(&dump, 0x5000, 5, 8, 14);
	jitdump_made_move(&dump, 0x6000, 5, 99, 15);
	jitdump_made_load(&dump, 0x7000, 7, "again", 16);
	jitdump_made_move(&dump, 0x8000, 5, 7, 17);
	jitdump_made_put(&dump, "torn", 4);
	jitdump_made_store(&dump, scratch_path("jit-6.dump"));
	if (!scratch_write(scratch_path("jit-7.dump"), "no dump", 7))
		exit(99);
	if (!check(!jp_code_loads_read(scratch_folder(), &loads, &err) && loads.count == 8 &&
			   loads.folder.count == 2,
		   "loads and moves are read %s", err.text))
		return;
	first = find_load(&loads, 0x1000);
	check(first && first->eh_frame_size == 16 && first->mapped_size == 24 &&
		      !memcmp(first->eh_frame, "sixteen letters.", 16) && first->pid == 5 &&
		      first->owner == 6,
	      "a load has its tables, without their index");
	second = find_load(&loads, 0x2000);
	check(second && !second->eh_frame && !second->mapped_size, "the next load has none");
	moved_code = find_load(&loads, 0x3000);
	check(moved_code && !strcmp(moved_code->name, "first") && moved_code->code == first->code &&
		      moved_code->eh_frame == first->eh_frame && moved_code->eh_frame_size == 16,
	      "a move keeps name, code and tables");
	moved_code = find_load(&loads, 0x4000);
	check(moved_code && !strcmp(moved_code->name, "first") && !moved_code->code &&
		      !moved_code->eh_frame && !moved_code->eh_frame_size &&
		      moved_code->mapped_size == 24,
	      "a move of another size keeps the name alone");
	moved_code = find_load(&loads, 0x5000);
	check(moved_code && !strcmp(moved_code->name, "second") && !moved_code->eh_frame,
	      "a move of a load without tables has none");
	moved_code = find_load(&loads, 0x6000);
	check(moved_code && !*moved_code->name && !moved_code->code,
	      "a move of an unknown index has no name");
	moved_code = find_load(&loads, 0x8000);
	check(moved_code && !strcmp(moved_code->name, "again"),
	      "a move uses the last load of an index");
	check(loads.folder.nr_bad == 2 && strstr(loads.folder.first_error.text, "/jit-6.dump: "),
	      "two bad dumps are counted: %s", loads.folder.first_error.text);
	jp_code_loads_free(&loads);
	unlink(scratch_path("jit-6.dump"));
	unlink(scratch_path("jit-7.dump"));
	check(!jp_code_loads_read(scratch_folder(), &loads, &err) && !loads.count &&
		      !loads.folder.count,
	      "an empty folder has no loads");
	jp_code_loads_free(&loads);
	check(jp_code_loads_read(scratch_path("none"), &loads, &err) == -ENOENT && !loads.count,
	      "a missing folder is an error: %s", err.text);
}

TEST(code_loads)
{
	struct jp_code_loads loads = {0};
	struct jp_error err = {""};
	unsigned int sorted = 0;

	check(scratch_make("jit-30.dump"), "a folder is made");
	test_moves();
	store_dump(30, 100);
	store_dump(4, 300);
	store_dump(200, 200);
	if (!check(jp_code_loads_read(scratch_folder(), &loads, &err) == 0 && loads.count == 9 &&
			   loads.folder.count == 3 && !loads.folder.nr_bad,
		   "nine loads of three dumps are read %s", err.text))
		return;
	for (size_t i = 1; i < loads.count; i++) {
		const struct jp_code_load *load = &loads.loads[i - 1], *next = load + 1;

		sorted += load->pid != next->pid     ? load->pid < next->pid
			  : load->addr != next->addr ? load->addr < next->addr
						     : load->time < next->time;
	}
	check(sorted == 8 && loads.loads[0].pid == 4 && loads.loads[8].pid == 200,
	      "loads are sorted by process, address and time");
	check(loads.loads[0].time == 301 && loads.loads[1].time == 302 &&
		      loads.loads[2].addr == 0x2000 && strcmp(loads.loads[2].name, "name") == 0 &&
		      memcmp(loads.loads[2].code, "CODE", 4) == 0,
	      "each load has its time, name and code");
	jp_code_loads_free(&loads);
}
