// SPDX-License-Identifier: GPL-2.0-only
#include "validators/mapping_compare.h"

#include <string.h>

#include "harness/model/space/mapping_name.h"

/* The attributes that a record states. */
struct told {
	const struct jp_mapping *mapping;
	bool prot, sharing, identity;
	uint64_t anon_offset[2]; /* for memory without a file: either offset is right */
	bool any_offset;
};

static enum jp_backing backing_of(const struct jp_memory *memory)
{
	return jp_mapping_backing(memory->line  ? memory->line->name
				  : memory->act ? memory->act->map.name
						: "");
}

static bool has_file(const struct jp_procmap *line)
{
	return line->ino || line->maj || line->min;
}

/* Memory without a name of its own. Before v6.6 the kernel called a part of the heap //anon and
 * only the whole heap [heap]; [anon:NAME] is in maps only (v5.17). */
static bool nameless(enum jp_backing backing)
{
	return backing == JP_BACKING_ANON || backing == JP_BACKING_HEAP;
}

/* Returns what differs in memory that no mark showed: it can only be private memory without a
 * file. */
static const char *differs_from_none(const struct jp_executable *truth, const struct told *told,
				     uint64_t addr)
{
	const struct jp_mapping *known = told->mapping;
	uint64_t offset = known->pgoff + (addr - known->start);

	if (told->sharing && jp_mapping_is_shared(known->flags))
		return "sharing";
	if (!told->any_offset && offset != addr && offset != addr - truth->moved)
		return "offset";
	if (told->identity && (known->maj || known->min))
		return "device";
	return told->identity && known->ino ? "inode" : NULL;
}

static const char *differs(const struct jp_memory *memory, const struct jp_executable *truth,
			   const struct told *told, uint64_t addr)
{
	const struct jp_mapping *known = told->mapping;
	const struct jp_procmap *line = memory->line;
	enum jp_backing backing = backing_of(memory);
	uint64_t offset = known->pgoff + (addr - known->start);

	if (told->prot && known->prot != truth->prot)
		return "protection";
	if (known->backing != backing && !(nameless(backing) && nameless(known->backing)))
		return "kind";
	if (!line)
		return nameless(backing) ? differs_from_none(truth, told, addr) : NULL;
	if (told->sharing && jp_mapping_is_shared(known->flags) != (line->shared == 's'))
		return "sharing";
	if (!nameless(backing) && !jp_mapping_same_name(known->name, line->name))
		return "name";
	if ((has_file(line) || !nameless(backing)) && offset != addr - truth->moved + memory->shift)
		return "offset";
	/* Private memory that moved keeps its offset, the address where it began, unless it was
	 * never written. */
	if (!has_file(line) && nameless(backing) && !told->any_offset && offset != addr &&
	    offset != addr - truth->moved)
		return "offset";
	if (told->identity && (known->maj != line->maj || known->min != line->min))
		return "device";
	if (told->identity && known->ino != line->ino)
		return "inode";
	return NULL;
}

const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *known, uint64_t addr)
{
	/* Synthesized records count the offset of private memory from 0; the capture keeps its
	 * protection in the flags. */
	const struct told told = {.mapping = known,
				  .prot = known->flags,
				  .sharing = known->flags,
				  .identity = known->ino && !known->build_id,
				  .any_offset = true};

	return differs(memory, truth, &told, addr);
}

const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool live, uint64_t addr)
{
	const struct jp_mapping known = {.start = record->map.addr,
					 .end = record->map.addr + record->map.len,
					 .pgoff = record->map.pgoff,
					 .maj = record->map.maj,
					 .min = record->map.min,
					 .ino = record->map.ino,
					 .prot = record->map.prot & 7,
					 .flags = record->map.flags,
					 .backing = jp_mapping_backing(record->map.name),
					 .name = record->map.name};
	/* MMAP2 states protection, flags and either the file or its build id. */
	const bool two = record->map.has_identity || record->map.build_id;
	const struct told told = {.mapping = &known,
				  .prot = two,
				  .sharing = two,
				  .identity = record->map.has_identity,
				  /* maps shows 0 for memory without a file, a live record its
				   * address. */
				  .any_offset = !live && !record->map.pgoff};

	return differs(memory, truth, &told, addr);
}
