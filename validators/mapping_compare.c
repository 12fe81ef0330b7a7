// SPDX-License-Identifier: GPL-2.0-only
#include "validators/mapping_compare.h"

#include "harness/model/space/mapping_name.h"

/* A mapping, and which of its attributes are known. */
struct stated_mapping {
	const struct jp_mapping *mapping;
	bool prot, sharing, identity;
	bool any_offset; /* the offset of memory without a file is unknown */
};

static bool has_file(const struct jp_procmap *line)
{
	return line->ino || line->maj || line->min;
}

/* Returns whether mapping records may show the memory without a name. Before v6.6 the kernel named
 * a mapping [heap] only if it was the whole heap, else //anon; only /proc/PID/maps shows
 * [anon:NAME] (v5.17). */
static bool is_nameless(enum jp_backing backing)
{
	return backing == JP_BACKING_ANON || backing == JP_BACKING_HEAP;
}

/* Returns the attribute that differs for memory that no mark of the truth describes: it must be
 * private and without a file. */
static const char *find_private_difference(const struct jp_executable *truth,
					   const struct stated_mapping *stated_fields,
					   uint64_t addr)
{
	const struct jp_mapping *mapping = stated_fields->mapping;
	uint64_t offset = mapping->pgoff + (addr - mapping->start);

	if (stated_fields->sharing && jp_mapping_is_shared(mapping->flags))
		return "sharing";
	if (!stated_fields->any_offset && offset != addr && offset != addr - truth->distance)
		return "offset";
	if (stated_fields->identity && (mapping->maj || mapping->min))
		return "device";
	return stated_fields->identity && mapping->ino ? "inode" : NULL;
}

static const char *find_difference(const struct jp_memory *memory,
				   const struct jp_executable *truth,
				   const struct stated_mapping *stated_fields, uint64_t addr)
{
	const struct jp_mapping *mapping = stated_fields->mapping;
	const struct jp_procmap *line = memory->line;
	enum jp_backing backing = jp_mapping_backing(memory->line  ? memory->line->name
						     : memory->act ? memory->act->map.name
								   : "");
	uint64_t offset = mapping->pgoff + (addr - mapping->start);

	if (stated_fields->prot && mapping->prot != truth->prot)
		return "protection";
	if (mapping->backing != backing && !(is_nameless(backing) && is_nameless(mapping->backing)))
		return "kind";
	if (!line)
		return is_nameless(backing) ? find_private_difference(truth, stated_fields, addr)
					    : NULL;
	if (stated_fields->sharing && jp_mapping_is_shared(mapping->flags) != (line->shared == 's'))
		return "sharing";
	if (!is_nameless(backing) && !jp_mapping_same_name(mapping->name, line->name))
		return "name";
	if ((has_file(line) || !is_nameless(backing)) &&
	    offset != addr - truth->distance + memory->shift)
		return "offset";
	/* Private memory that moved keeps its first address as offset, if it was ever written. */
	if (!has_file(line) && is_nameless(backing) && !stated_fields->any_offset &&
	    offset != addr && offset != addr - truth->distance)
		return "offset";
	if (stated_fields->identity && (mapping->maj != line->maj || mapping->min != line->min))
		return "device";
	if (stated_fields->identity && mapping->ino != line->ino)
		return "inode";
	return NULL;
}

const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *mapping, uint64_t addr)
{
	/* Synthesized records have offset 0 for private memory. Flags are 0 if the record had
	 * neither protection nor flags. */
	const struct stated_mapping stated_fields = {.mapping = mapping,
						     .prot = mapping->flags,
						     .sharing = mapping->flags,
						     .identity = mapping->ino && !mapping->build_id,
						     .any_offset = true};

	return find_difference(memory, truth, &stated_fields, addr);
}

const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool is_live, uint64_t addr)
{
	const struct jp_mapping mapping = {.start = record->map.addr,
					   .end = record->map.addr + record->map.len,
					   .pgoff = record->map.pgoff,
					   .maj = record->map.maj,
					   .min = record->map.min,
					   .ino = record->map.ino,
					   .prot = record->map.prot & 7,
					   .flags = record->map.flags,
					   .backing = jp_mapping_backing(record->map.name),
					   .name = record->map.name};
	/* MMAP2 has protection, flags, and the file or its build id. */
	const bool is_mmap2 = record->map.has_identity || record->map.build_id;
	const struct stated_mapping stated_fields = {
		.mapping = &mapping,
		.prot = is_mmap2,
		.sharing = is_mmap2,
		.identity = record->map.has_identity,
		/* For memory without a file, /proc/PID/maps has
		 * offset 0, and a live record has the address. */
		.any_offset = !is_live && !record->map.pgoff};

	return find_difference(memory, truth, &stated_fields, addr);
}
