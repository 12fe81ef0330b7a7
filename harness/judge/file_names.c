// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/file_names.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/map.h"
#include "harness/format/elf/elf_symbols.h"

const char *const jp_naming_perf_text[JP_NAMING_PERFS] = {"5.10", "6.1", "6.12", "7.2", "7.3"};
static const uint16_t versions[JP_NAMING_PERFS] = {
	JP_PERF_VERSION(5, 10), JP_PERF_VERSION(6, 1), JP_PERF_VERSION(6, 12),
	JP_PERF_VERSION(7, 2),  JP_PERF_VERSION(7, 3),
};

/* The name of one address, valid until its address space changes. */
struct known_name {
	uint64_t addr, generation;
	uint32_t pid;
	uint16_t since;
	uint8_t source;
	bool is_set;
};

enum { KNOWN = 16384 };
struct jp_file_names {
	struct jp_replay *replay;
	struct jp_file_finder *finder;
	struct jp_names *names;
	struct jp_map processes; /* struct jp_name_counts, by pid */
	struct known_name known[KNOWN];
};

struct jp_file_names *jp_file_names_new(struct jp_replay *replay, struct jp_file_finder *finder)
{
	struct jp_file_names *file_names = calloc(1, sizeof(*file_names));

	if (!file_names)
		return NULL;
	file_names->replay = replay;
	file_names->finder = finder;
	file_names->names = jp_names_new(finder);
	if (file_names->names)
		return file_names;
	jp_file_names_free(file_names);
	return NULL;
}

void jp_file_names_free(struct jp_file_names *file_names)
{
	if (!file_names)
		return;
	jp_names_free(file_names->names);
	jp_map_free(&file_names->processes);
	free(file_names);
}

static const struct known_name *get_name(struct jp_file_names *file_names, uint32_t pid,
					 uint64_t addr)
{
	const uint64_t generation = jp_replay_generation(file_names->replay, pid);
	struct known_name *known =
		&file_names->known[((addr ^ (uint64_t)pid << 32) * UINT64_C(0x9e3779b97f4a7c15)) >>
				   50];
	struct jp_name name;

	if (known->is_set && known->addr == addr && known->pid == pid &&
	    known->generation == generation)
		return known;
	name = jp_names_find(file_names->names,
			     jp_replay_find_as_perf(file_names->replay, pid, addr), addr);
	*known = (struct known_name){addr, generation, pid, name.since, name.source, true};
	return known;
}

int jp_file_names_count(struct jp_file_names *file_names, const struct jp_event *event)
{
	struct jp_name_counts *counts;
	const struct known_name *name;

	if (event->type != JP_EVENT_SAMPLE)
		return jp_file_finder_add_build_id(file_names->finder, event);
	if (jp_event_cpu_mode(event) != JP_CPU_USER)
		return 0;
	counts = jp_map_at(&file_names->processes, event->pid, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	name = get_name(file_names, event->pid, event->sample.ip);
	counts->samples++;
	counts->source[name->source]++;
	for (size_t i = 0; name->source < JP_NAME_NAMED && i < JP_NAMING_PERFS; i++)
		counts->nr_named[i] += name->since <= versions[i];
	return 0;
}

void jp_file_names_total(const struct jp_file_names *file_names, struct jp_name_counts *total)
{
	const struct jp_name_counts *counts;

	*total = (struct jp_name_counts){0};
	for (size_t cursor = 0; (counts = jp_map_next(&file_names->processes, &cursor, NULL));) {
		total->samples += counts->samples;
		for (size_t i = 0; i < JP_NAME_SOURCES; i++)
			total->source[i] += counts->source[i];
		for (size_t i = 0; i < JP_NAMING_PERFS; i++)
			total->nr_named[i] += counts->nr_named[i];
	}
}

const struct jp_name_counts *jp_file_names_get_counts(const struct jp_file_names *file_names,
						      uint32_t pid)
{
	return jp_map_find(&file_names->processes, pid);
}
