// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/file_figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/map.h"
#include "harness/base/sort.h"
#include "harness/format/elf/elf_symbols.h"
#include "harness/format/perfdata/format.h"
#include "harness/model/space/mapping_name.h"

struct jp_file_figures {
	struct jp_places *places;
	struct jp_map processes; /* struct jp_process_figures *, by pid */
	struct jp_process_figures *last;
	const struct jp_process_figures **sorted; /* NULL: the counts changed since the last sort */
	size_t nr_sorted;
	struct jp_figures nobody; /* records and samples that belong to no process, such as the
				     kernel's own mappings */
	bool mmap2;               /* the file contains MMAP2 records */
};

struct jp_file_figures *jp_file_figures_new(struct jp_replay *replay)
{
	struct jp_file_figures *figures = calloc(1, sizeof(*figures));

	if (figures && !(figures->places = jp_places_new(replay))) {
		free(figures);
		figures = NULL;
	}
	return figures;
}

void jp_file_figures_free(struct jp_file_figures *figures)
{
	struct jp_process_figures **process;

	if (!figures)
		return;
	for (size_t cursor = 0; (process = jp_map_next(&figures->processes, &cursor, NULL));)
		free(*process);
	jp_map_free(&figures->processes);
	free(figures->sorted);
	jp_places_free(figures->places);
	free(figures);
}

/* Returns process @pid, and adds it if necessary; NULL: out of memory. */
static struct jp_process_figures *get_process(struct jp_file_figures *figures, uint32_t pid)
{
	struct jp_process_figures *process = figures->last, **slot;

	if (process && process->pid == pid)
		return process;
	slot = jp_map_at(&figures->processes, pid, sizeof(*slot));
	if (!slot)
		return NULL;
	if (!*slot) {
		struct jp_places_process *places = jp_places_get_process(figures->places, pid);

		*slot = places ? calloc(1, sizeof(**slot)) : NULL;
		if (!*slot)
			return NULL;
		(*slot)->pid = pid;
		(*slot)->places = places;
	}
	return figures->last = *slot;
}

static void count_sample_without_process(struct jp_file_figures *figures,
					 const struct jp_event *event)
{
	const enum jp_cpu_mode mode = jp_event_cpu_mode(event);
	const bool guest = mode == JP_CPU_GUEST_KERNEL || mode == JP_CPU_GUEST_USER;

	figures->nobody.samples++;
	figures->nobody.nr_samples[guest                ? JP_PLACE_GUEST
				   : event->sample.user ? JP_PLACE_UNMAPPED
							: JP_PLACE_KERNEL]++;
}

static int count_sample(struct jp_file_figures *all, const struct jp_event *event)
{
	uint64_t nr_user, addresses = 0, unmapped = 0;
	const struct jp_stretch *stretch = NULL;
	struct jp_process_figures *process;
	struct jp_figures *figures;
	const uint64_t *user;

	if (jp_places_has_no_process(event)) {
		count_sample_without_process(all, event);
		return 0;
	}
	process = get_process(all, event->pid);
	if (!process)
		return -ENOMEM;
	if (process->places->checked != all->places->applied)
		jp_places_update_epoch(all->places, process->places);
	figures = &process->figures;
	figures->samples++;
	figures->nr_samples[event->sample.user
				    ? jp_places_at(all->places, process->places, event->sample.ip)
					      ->place
				    : JP_PLACE_KERNEL]++;
	nr_user = jp_event_user_chain(event, &user);
	for (uint64_t i = 0, first; i < nr_user;) {
		if (user[i] >= JP_CONTEXT_MAX) {
			i++;
			continue;
		}
		/* Look up once for all neighbouring addresses in the same mapping or gap (stretch),
		 * as most are. No stretch contains a PERF_CONTEXT_* marker. */
		stretch = jp_places_at(all->places, process->places, user[i]);
		first = i;
		do
			i++;
		while (i < nr_user && user[i] - stretch->start < stretch->size);
		addresses += i - first;
		unmapped += stretch->place == JP_PLACE_UNMAPPED ? i - first : 0;
	}
	if (!addresses)
		return 0;
	figures->user_stacks++;
	figures->single_frame += addresses == 1;
	figures->addresses += addresses;
	figures->addresses_unmapped += unmapped;
	figures->rootless += !stretch->root; /* the stretch that contains the outermost address */
	return 0;
}

static int count_map(struct jp_file_figures *figures, const struct jp_event *event)
{
	enum jp_place place =
		jp_place_classify(jp_mapping_backing(event->map.name), event->map.name);
	bool two = event->record_type == JP_PERF_RECORD_MMAP2;
	struct jp_process_figures *process;

	figures->mmap2 |= two;
	if (event->kernel_map) {
		(two ? figures->nobody.mmap2 : figures->nobody.mmap)[JP_PLACE_OTHER]++;
		return 0;
	}
	process = get_process(figures, event->pid);
	if (!process)
		return -ENOMEM;
	(two ? process->figures.mmap2 : process->figures.mmap)[place]++;
	return 0;
}

int jp_file_figures_count(struct jp_file_figures *figures, const struct jp_event *event)
{
	int ret;

	if (figures->sorted) {
		free(figures->sorted);
		figures->sorted = NULL;
	}
	if (event->type == JP_EVENT_SAMPLE)
		return count_sample(figures, event);
	ret = jp_places_apply(figures->places, event);
	if (!ret && event->type == JP_EVENT_MAP)
		ret = count_map(figures, event);
	return ret;
}

static void add_figures(struct jp_figures *to, const struct jp_figures *from)
{
	to->samples += from->samples;
	to->user_stacks += from->user_stacks;
	to->single_frame += from->single_frame;
	to->addresses += from->addresses;
	to->addresses_unmapped += from->addresses_unmapped;
	to->rootless += from->rootless;
	for (size_t i = 0; i < JP_MAP_PLACES; i++)
		to->mmap2[i] += from->mmap2[i];
	for (size_t i = 0; i < JP_PLACES; i++)
		to->nr_samples[i] += from->nr_samples[i];
}

/* Counts the MMAP records as mappings if the whole file contains no MMAP2 record. */
static void replace_missing_mmap2(struct jp_file_figures *figures)
{
	struct jp_process_figures **process;

	if (figures->mmap2)
		return;
	memcpy(figures->nobody.mmap2, figures->nobody.mmap, sizeof(figures->nobody.mmap));
	for (size_t cursor = 0; (process = jp_map_next(&figures->processes, &cursor, NULL));)
		if (*process)
			memcpy((*process)->figures.mmap2, (*process)->figures.mmap,
			       sizeof(figures->nobody.mmap));
}

void jp_file_figures_total(struct jp_file_figures *figures, struct jp_figures *total)
{
	struct jp_process_figures *const *process;

	replace_missing_mmap2(figures);
	*total = figures->nobody;
	for (size_t cursor = 0; (process = jp_map_next(&figures->processes, &cursor, NULL));)
		if (*process)
			add_figures(total, &(*process)->figures);
}

static bool has_figures(const struct jp_figures *figures)
{
	uint64_t sum = figures->samples;

	for (size_t i = 0; i < JP_MAP_PLACES; i++)
		sum += figures->mmap2[i];
	return sum;
}

/* Sorts by pid, not by the pointers, so that the order is always the same. */
static int sort_processes(struct jp_file_figures *figures)
{
	jp_cleanup_free uint64_t *keys = malloc((figures->processes.count + 1) * sizeof(*keys));
	struct jp_process_figures *const *process;
	size_t count = 0;
	uint64_t pid;

	figures->sorted = malloc((figures->processes.count + 1) * sizeof(*figures->sorted));
	if (!keys || !figures->sorted)
		return -ENOMEM;
	for (size_t cursor = 0; (process = jp_map_next(&figures->processes, &cursor, &pid));)
		if (*process && has_figures(&(*process)->figures))
			keys[count++] = pid;
	jp_sort(keys, count, jp_compare_by_value);
	for (size_t i = 0; i < count; i++)
		figures->sorted[i] =
			*(struct jp_process_figures **)jp_map_find(&figures->processes, keys[i]);
	figures->nr_sorted = count;
	return 0;
}

const struct jp_process_figures *const *jp_file_figures_processes(struct jp_file_figures *figures,
								  size_t *count)
{
	replace_missing_mmap2(figures);
	if (!figures->sorted && sort_processes(figures)) {
		free(figures->sorted);
		figures->sorted = NULL;
	}
	*count = figures->sorted ? figures->nr_sorted : 0;
	return figures->sorted;
}

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
