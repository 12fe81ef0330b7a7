// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explain/explainer.h"
#include "harness/base/path.h"
#include "harness/explain/remapped.h"
#include "harness/model/symbols/names.h"

/* Name that perf maps give to an interpreter that is itself emitted code, such as HotSpot's. */
static const char emitted_name[] = "Interpreter";

/* Counts of samples in the emitted code of a process. */
struct interpreted {
	uint64_t samples, interpreted, named;
};

/* Counts of samples of a process whose interpreter is part of a larger file. */
struct looped {
	uint64_t top; /* samples taken in the interpreter itself */
	uint64_t any; /* samples with the interpreter on the stack, without emitted code */
};

/* Functions of interpreters that are part of a larger file. Samples elsewhere in the file, as in a
 * garbage collector, need not show the program's functions. */
static const struct {
	const char *file, *function;
	const char *entry; /* function that calls each function of the program */
} loops[] = {
	{"node", "Builtins_", "Builtins_InterpreterEntryTrampoline"},
};

struct interpreter_state {
	struct jp_map looped;    /* struct looped, by pid */
	struct jp_map places;    /* enum emitted_place, by address and pid */
	struct jp_map processes; /* struct interpreted, by pid */
	const char *program;     /* name of the program that was looked up last */
	bool loops;              /* @program is in loops[] */
};

enum emitted_place { UNSEEN, ELSEWHERE, EMITTED, NAMED, INTERPRETER, LOOP, ENTRY };

/* Returns the index of @file's interpreter in loops[]; -1: any function of the file may be part of
 * the interpreter. */
static int find_loop(const char *file)
{
	const char *name = jp_path_base(file);

	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
		if (strncmp(name, loops[i].file, strlen(loops[i].file)) == 0)
			return (int)i;
	return -1;
}

static void free_state(void *context)
{
	struct interpreter_state *state = context;

	jp_map_free(&state->looped);
	jp_map_free(&state->places);
	jp_map_free(&state->processes);
}

/* Returns the role of a function of this name in the file of @loop. */
static enum emitted_place classify_name(const struct jp_name *name, int loop)
{
	/* Without symbols, the role of the function is unknown. */
	if (name->source == JP_NAME_STRIPPED)
		return LOOP;
	if (!name->text || strncmp(name->text, loops[loop].function, strlen(loops[loop].function)))
		return ELSEWHERE;
	return strcmp(name->text, loops[loop].entry) == 0 ? ENTRY : LOOP;
}

static enum emitted_place classify_address(const struct jp_explain_view *view, uint32_t pid,
					   uint64_t addr)
{
	struct jp_mapping text;
	const struct jp_mapping *mapping = jp_remapped_find(view->spaces, pid, addr, &text);
	const int loop = mapping ? find_loop(mapping->name) : -1;
	struct jp_name name;

	if (loop >= 0) {
		name = jp_names_find(view->names, mapping, addr);
		return classify_name(&name, loop);
	}
	if (!mapping || jp_code_classify(mapping->backing, mapping->name) != JP_CODE_EMITTED)
		return ELSEWHERE;
	name = jp_names_find(view->names, mapping, addr);
	if (!name.text)
		return EMITTED;
	return strcmp(name.text, emitted_name) == 0 ? INTERPRETER : NAMED;
}

/* Returns the role of the code at an address (enum emitted_place), or -ENOMEM. Caches the role,
 * because interpreters do not move. */
static int get_place(const struct jp_explain_view *view, uint32_t pid, uint64_t addr)
{
	struct interpreter_state *state = view->state;
	uint64_t *place = jp_map_at(&state->places, addr ^ (uint64_t)pid << 47, sizeof(*place));

	if (!place)
		return -ENOMEM;
	if (*place == UNSEEN)
		*place = classify_address(view, pid, addr);
	return (int)*place;
}

static bool is_emitted(int place)
{
	return place == EMITTED || place == NAMED || place == INTERPRETER;
}

/* Handles a sample with its innermost frame at @top, in a process whose interpreter is in a
 * file. */
static int handle_loop_sample(const struct jp_explain_view *view, uint32_t pid,
			      const struct jp_stack *stack, int top)
{
	struct interpreter_state *state = view->state;
	struct looped *looped = jp_map_at(&state->looped, pid, sizeof(*looped));
	bool entered = false;
	uint64_t i;

	if (!looped)
		return -ENOMEM;
	if (is_emitted(top))
		return 0;
	looped->top += top == LOOP || top == ENTRY;
	for (i = 0; i < stack->count; i++) {
		const int place = get_place(view, pid, stack->frames[i]);

		if (place < 0)
			return place;
		if (is_emitted(place))
			return 0;
		entered |= place == ENTRY;
	}
	looped->any += entered;
	return 0;
}

/* Returns quickly whether emitted code is at the address: most samples are in files, which need no
 * entry in the cache. */
static bool is_emitted_at(const struct jp_explain_view *view,
			  const struct jp_places_process *process, uint64_t addr)
{
	struct jp_stretch *stretch = jp_places_at(view->ends->places, process, addr);

	return stretch->place != JP_PLACE_UNMAPPED &&
	       jp_code_at(&view->ends->codes, process, stretch) == JP_CODE_EMITTED;
}

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	struct interpreter_state *state = view->state;
	const struct jp_places_process *process;
	struct interpreted *emitted;
	int place, ret;
	bool looped;

	if (!stack || !stack->count || jp_places_has_no_process(event))
		return 0;
	process = jp_places_get_process(view->ends->places, event->pid);
	if (!process)
		return -ENOMEM;
	if (process->program != state->program) {
		state->program = process->program;
		state->loops = state->program && find_loop(state->program) >= 0;
	}
	looped = state->loops;
	if (!looped && !is_emitted_at(view, process, stack->frames[0]))
		return 0;
	place = get_place(view, event->pid, stack->frames[0]);
	if (place < 0)
		return place;
	ret = looped ? handle_loop_sample(view, event->pid, stack, place) : 0;
	if (ret || !is_emitted(place))
		return ret;
	emitted = jp_map_at(&state->processes, event->pid, sizeof(*emitted));
	if (!emitted)
		return -ENOMEM;
	emitted->samples++;
	emitted->named += place == NAMED;
	emitted->interpreted += place == INTERPRETER;
	return 0;
}

static const char *find_remedy(const char *interpreter)
{
	static const struct {
		const char *name, *remedy;
	} remedies[] = {
		{"python", "python 3.12 or later: python -X perf (with frame pointers), or "
			   "python 3.13: -X perf_jit; before: py-spy record"},
		{"node", "node without --jitless: node --perf-basic-prof "
			 "--interpreted-frames-native-stack"},
		{"ruby", "a profiler that reads ruby's own stacks: rbspy record"},
		{"php", "a profiler that reads php's own stacks: phpspy, or opcache.jit with "
			"opcache.jit_debug=0x10"},
		{"perl", "a profiler that runs inside: perl -d:NYTProf"},
	};

	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (strstr(interpreter, remedies[i].name))
			return remedies[i].remedy;
	return "a profiler that reads the interpreter's own stacks";
}

/* Returns the number of samples of @image with functions of an interpreter and no emitted code, or
 * 0 if there are only as many as any program has at its start. */
static uint64_t count_interpreted_by_file(const struct interpreter_state *state,
					  const struct jp_image *image)
{
	enum { HALF = 2, SOME = 5, FEW = 10 };
	const struct interpreted *emitted;
	const struct looped *looped;
	uint64_t samples = image->interpreted, part = HALF;

	if (samples && find_loop(image->interpreter) >= 0) {
		looped = jp_map_find(&state->looped, image->pid);
		emitted = jp_map_find(&state->processes, image->pid);
		if (!looped)
			return 0;
		/* Count samples by callers only if stacks are whole and emitted code has names:
		 * otherwise these faults must be repaired first. */
		if (looped->any && image->whole * FEW >= image->samples * (FEW - 1) &&
		    (!emitted || emitted->named * HALF >= emitted->samples)) {
			samples = looped->any < samples ? looped->any : samples;
			part = SOME;
		} else {
			samples = looped->top < samples ? looped->top : samples;
		}
	}
	return samples * part >= image->samples ? samples : 0;
}

/* Blames the interpreter in a file for hiding the functions of @image's program. */
static void blame_file(struct jp_explain_view *view, const struct jp_image *image,
		       uint64_t interpreted)
{
	struct jp_blame *blame = jp_blame(view->blames, "interpreter", image->pid, image->process,
					  image->interpreter, interpreted);

	jp_blame_evidence(blame, "%" PRIu64 " of %" PRIu64 " stacks of the process go through %s",
			  interpreted, image->samples, image->interpreter);
	jp_blame_evidence(blame, "no frame of these stacks is in emitted code%s",
			  image->anon ? "" : ": the process has none");
	jp_blame_evidence(blame, "see them: perf script -i %s --pid %u -F ip,sym,dso", view->path,
			  image->pid);
	jp_blame_remedy(blame, "%s", find_remedy(image->interpreter));
}

static void blame_emitted(struct jp_explain_view *view, const struct jp_image *image,
			  const struct interpreted *process)
{
	struct jp_blame *blame = jp_blame(view->blames, "interpreter", image->pid, image->process,
					  image->anon, process->interpreted);

	jp_blame_evidence(blame,
			  "%" PRIu64 " of %" PRIu64 " samples in emitted code are in functions "
			  "called %s",
			  process->interpreted, process->samples, emitted_name);
	jp_blame_evidence(blame, "%" PRIu64 " of %" PRIu64 " stacks of the process are whole",
			  image->whole, image->samples);
	jp_blame_evidence(blame, "see them: perf script -i %s --pid %u -F ip,sym", view->path,
			  image->pid);
	jp_blame_remedy(blame, "java without -Xint, and recorded when its methods are compiled; or "
			       "async-profiler, which reads interpreted frames");
}

static int blame_interpreters(struct jp_explain_view *view, struct jp_error *err)
{
	const struct interpreter_state *state = view->state;

	/* Broken stacks must be repaired first, and some interpretation before compilation is
	 * usual. */
	for (size_t i = 0; i < view->ends->images.count; i++) {
		const struct jp_image *image = view->ends->images.all[i];
		struct interpreted *process = jp_map_find(&state->processes, image->pid);
		const uint64_t by_file = count_interpreted_by_file(state, image);

		if (by_file)
			blame_file(view, image, by_file);
		else if (process && image->samples && process->interpreted &&
			 process->interpreted * 5 >= process->samples * 4) {
			blame_emitted(view, image, process);
			process->interpreted =
				0; /* the process may have several images: count once */
		}
	}
	return 0;
}

JP_DEFINE(explainer, interpreter) = {
	.name = "interpreter",
	.state_size = sizeof(struct interpreter_state),
	.handle = handle_event,
	.end = blame_interpreters,
	.free = free_state,
};
