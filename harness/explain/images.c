// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/explain/runtimes.h"
#include "harness/model/space/mapping_name.h"

void jp_images_free(struct jp_images *images)
{
	for (size_t i = 0; i < images->count; i++)
		free(images->all[i]);
	free(images->all);
	jp_map_free(&images->current);
	*images = (struct jp_images){0};
}

struct jp_image *jp_image_get(struct jp_images *images, uint32_t pid)
{
	struct jp_image **current = jp_map_at(&images->current, pid, sizeof(*current)), **added;

	if (!current)
		return NULL;
	if (*current)
		return *current;
	added = jp_array_push(&images->all, &images->count, &images->capacity);
	if (!added)
		return NULL;
	*added = calloc(1, sizeof(**added));
	if (!*added) {
		images->count--;
		return NULL;
	}
	(*added)->pid = pid;
	return *current = *added;
}

/* Begins the next image of the process in @event. Synthesized records, which perf writes first,
 * begin no image. */
static int start_image(struct jp_images *images, const struct jp_event *event)
{
	struct jp_image **current = jp_map_find(&images->current, event->pid), *image;
	const struct jp_image *before = current ? *current : NULL;

	if (event->type == JP_EVENT_FORK && before && !before->samples)
		return 0;
	if (current)
		*current = NULL;
	image = jp_image_get(images, event->pid);
	if (!image)
		return -ENOMEM;
	image->exec = event->type != JP_EVENT_FORK;
	if (event->type == JP_EVENT_FORK) {
		const struct jp_image *parent = jp_image_get(images, event->task.ppid);

		if (!parent)
			return -ENOMEM;
		image->anon = parent->anon;
		image->library = parent->library;
		image->libc = parent->libc;
		image->files = parent->files;
		image->low_file = parent->low_file;
		image->anon_before = parent->anon_before;
		image->synthesized = parent->synthesized;
	}
	return 0;
}

bool jp_images_is_program(const struct jp_images *images, uint32_t pid, const char *name)
{
	const struct jp_places_process *const *process =
		jp_map_find(&images->places->processes, pid);

	return process && (*process)->program && strcmp((*process)->program, name) == 0;
}

/* Stores @name in image->library if it is the library of a known runtime. The library of an engine
 * within Python replaces Python's own. */
static void note_library(struct jp_images *images, struct jp_image *image, const char *name)
{
	const struct jp_runtime *runtime = jp_runtime_find(name),
				*known = image->library ? jp_runtime_find(image->library) : NULL;

	if (runtime && strstr(name, ".so") && (!known || strcmp(known->name, "python") == 0))
		image->library = jp_replay_text(images->places->replay, name);
}

void jp_image_note_caller(struct jp_image *image, const char *caller)
{
	if (!image->votes)
		image->caller = caller;
	image->votes += image->caller == caller ? 1 : -UINT64_C(1);
}

static int handle_map(struct jp_images *images, const struct jp_event *event, bool sampled)
{
	struct jp_image *image;
	enum jp_code_kind code;

	if (event->kernel_map || !jp_mapping_holds_code(event))
		return 0;
	image = jp_image_get(images, event->pid);
	if (!image)
		return -ENOMEM;
	code = jp_code_classify(jp_mapping_backing(event->map.name), event->map.name);
	if (jp_images_is_program(images, event->pid, event->map.name))
		code = JP_CODE_PROGRAM;
	if (code == JP_CODE_FILE)
		note_library(images, image, event->map.name);
	image->libc |= code == JP_CODE_LIBC || code == JP_CODE_LOADER; /* musl is both */
	image->low_file |= event->map.addr < JP_LOW_END;
	image->files |= code == JP_CODE_LIBC || code == JP_CODE_FILE || code == JP_CODE_LOADER ||
			code == JP_CODE_PROGRAM;
	/* Synthesized records about older state have no time, or the time at which the profiler
	 * read the state, and no event id. */
	if (!image->exec && (!event->time || (!event->id && !sampled))) {
		image->synthesized = true;
		image->anon_before |= code == JP_CODE_EMITTED;
	}
	if (code == JP_CODE_EMITTED && jp_mapping_injected(event->map.name)) {
		image->uninjected = image->injected ? image->uninjected : image->samples;
		image->injected = true;
	} else if (code == JP_CODE_EMITTED) {
		image->memory = true;
	}
	if (code == JP_CODE_EMITTED)
		image->anon = jp_replay_text(images->places->replay, event->map.name);
	return 0;
}

int jp_images_handle(struct jp_images *images, const struct jp_event *event, bool sampled)
{
	if (jp_event_starts_process(event))
		return start_image(images, event);
	return event->type == JP_EVENT_MAP ? handle_map(images, event, sampled) : 0;
}

bool jp_image_was_replaced(const struct jp_image *image)
{
	enum { FEW = 10, LEAST = 5 };
	/* Programs and their libraries are at least this far apart. A JIT's memory lies nearer. */
	const uint64_t far = UINT64_C(1) << 40;

	if (!image->files || (image->elsewhere >= LEAST && image->elsewhere * 2 >= image->unmapped))
		return true;
	if (image->unmapped_since < LEAST ||
	    (image->unmapped - image->unmapped_since) * FEW >= image->unmapped)
		return false;
	return (image->in_files && image->in_files * FEW >= image->unmapped) ||
	       image->high - image->low >= far;
}
