// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/path.h"
#include "harness/explain/culprits.h"
#include "harness/explain/emitter.h"
#include "harness/explain/explainer.h"

static void describe_end(struct jp_blame *blame, const struct jp_end *end)
{
	if (end->next)
		jp_blame_evidence(blame,
				  "first at time %" PRIu64 ".%09" PRIu64 ", tid %u: after %" PRIx64
				  " the chain goes on to %" PRIx64 ", where no code is",
				  end->time / 1000000000, end->time % 1000000000, end->tid,
				  end->addr, end->next);
	else
		jp_blame_evidence(blame,
				  "first at time %" PRIu64 ".%09" PRIu64 ", tid %u: the chain has "
				  "%" PRIu64 " address%s and ends at %" PRIx64,
				  end->time / 1000000000, end->time % 1000000000, end->tid,
				  end->frames, end->frames == 1 ? "" : "es", end->addr);
}

static void blame_emitted(struct jp_explain_view *view, const struct jp_culprit *culprit,
			  uint64_t samples)
{
	const struct jp_image *image = culprit->image;
	const char *caller;
	const struct jp_runtime *runtime =
		jp_emitter_find(view->ends, image->pid, culprit->file, image->process, &caller);
	struct jp_blame *blame = jp_blame(view->blames, "jit-no-frame-pointer", image->pid,
					  image->process, culprit->file, samples);

	if (culprit->start < culprit->end)
		jp_blame_range(blame, culprit->start, culprit->end);
	if (culprit->broken)
		jp_blame_evidence(blame,
				  "%" PRIu64 " chains end in emitted code, %" PRIu64 " of them "
				  "have no other address, %" PRIu64 " have an invalid address "
				  "behind it; %" PRIu64 " chains of samples in emitted code "
				  "continue",
				  culprit->broken, culprit->single, culprit->garbage,
				  culprit->passing);
	if (culprit->shared)
		jp_blame_evidence(
			blame,
			"%" PRIu64 " more chains end in a file without a caller in emitted code: "
			"either may be the cause; perf record --call-graph dwarf shows which",
			culprit->shared);
	if (culprit->no_caller)
		jp_blame_evidence(blame,
				  "%" PRIu64 " chains lack a function that has a frame: the code "
				  "before %" PRIx64 " calls it",
				  culprit->no_caller, culprit->leaf->skipped);
	if (culprit->worst)
		describe_end(blame, culprit->worst);
	else
		jp_blame_evidence(blame,
				  "first at time %" PRIu64 ".%09" PRIu64 ", tid %u: %" PRIx64
				  " is emitted code",
				  culprit->leaf->time / 1000000000,
				  culprit->leaf->time % 1000000000, culprit->leaf->tid,
				  culprit->leaf->addr);
	jp_blame_evidence(blame, "see them: perf script -i %s --pid %u -F time,tid,ip,sym",
			  view->path, image->pid);
	if (runtime && runtime->frames)
		jp_blame_remedy(blame, "run %s", runtime->frames);
	else if (runtime && runtime->unwinding)
		jp_blame_remedy(blame,
				"run %s, with perf record -k mono --call-graph dwarf; then perf "
				"inject --jit",
				runtime->unwinding);
	else
		jp_blame_remedy(blame,
				"%s%s must keep the frame pointer, or publish unwind information "
				"for perf record -k mono --call-graph dwarf",
				caller ? "the engine in " : "the runtime", caller ?: "");
}

/* Returns whether @end is the only place at which most chains of @culprit continue with garbage,
 * and may be where coroutines begin: in an outermost frame or in hand-written code. */
static bool is_entry(const struct jp_culprit *culprit, const struct jp_end *end)
{
	return end && end->kind == JP_END_HERE && end->garbage * 2 > culprit->broken &&
	       (end->use == JP_FRAME_ROOT || end->use == JP_FRAME_UNKNOWN);
}

static void blame_file(struct jp_explain_view *view, const struct jp_culprit *culprit,
		       uint64_t samples)
{
	const struct jp_image *image = culprit->image;
	const struct jp_end *where = culprit->broken >= culprit->no_caller || !culprit->leaf
					     ? culprit->worst
					     : culprit->leaf;
	struct jp_blame *blame = jp_blame(view->blames, "library-no-frame-pointer", image->pid,
					  image->process, culprit->file, samples);

	blame->again += culprit->again;
	jp_blame_range(blame, culprit->start, culprit->end);
	if (culprit->broken)
		jp_blame_evidence(blame, "%" PRIu64 " stacks end in %s", culprit->broken,
				  culprit->file);
	if (culprit->no_caller)
		jp_blame_evidence(blame,
				  "%" PRIu64 " of %" PRIu64
				  " stacks that continue there lack a caller",
				  culprit->no_caller, culprit->passing);
	if (where)
		describe_end(blame, where);
	if (where && (where->use == JP_FRAME_USED || where->use == JP_FRAME_KEPT))
		jp_blame_evidence(blame,
				  "its call frame information describes a frame at %" PRIx64 " "
				  "without a frame record%s: readelf -wF %s",
				  where->vaddr,
				  where->use == JP_FRAME_USED
					  ? ", and the frame pointer saved for another use"
					  : "",
				  culprit->file);
	else
		jp_blame_evidence(blame, "see them: perf script -i %s --pid %u -F time,tid,ip,sym",
				  view->path, image->pid);
	if (where && where->kind == JP_END_LEAF && where->bare) {
		jp_blame_remedy(blame,
				"let the assembly of %s keep the frame pointer, or give it .cfi "
				"directives and record with --call-graph dwarf",
				culprit->file);
		return;
	}
	if (where && where->kind == JP_END_LEAF && where->skips) {
		jp_blame_remedy(blame,
				"perf record --call-graph dwarf: the event takes samples where the "
				"function has no frame, as at its entry or in a system call; from "
				"Linux 6.12 on uprobes show the caller if the entry pushes the "
				"frame pointer");
		return;
	}
	jp_blame_remedy(blame, "perf record --call-graph dwarf, or %s%s%s",
			is_entry(culprit, where) ? "let the entry of coroutines in " : "build ",
			culprit->file,
			is_entry(culprit, where) ? " clear the frame pointer"
						 : " with -fno-omit-frame-pointer");
}

/* Returns whether the code keeps no frame pointers. Prologues, epilogues and a few hand-written
 * functions occur everywhere; a file that states that it keeps frame pointers needs more
 * evidence. */
static bool lacks_frame_pointers(const struct jp_culprit *culprit)
{
	enum { SOME = 10, MANY = 3 };
	const uint64_t all = culprit->broken + culprit->passing;

	return culprit->broken * (culprit->has_fp ? MANY : SOME) >= all;
}

/* Returns whether a healthy program has as many broken chains in the code of @culprit. On most
 * systems libc has no frame pointers, and every program calls it, mostly at its start, in less than
 * a twentieth of its samples. A JIT's program has started when it first runs emitted code: a short
 * recording shows little else than the start. The other threads of a JIT's program, such as those
 * of its garbage collector, wait for each other by libc: for less than a tenth of the samples.
 * While emitted code has less than a fifth of the samples, as in a JVM that prints a line, the
 * program is starting, too.
 * Until 2.34, glibc put __libc_csu_init(), which calls constructors and keeps no frame pointer,
 * into each program. */
static bool is_usual_share(const struct jp_culprit *culprit, uint64_t samples)
{
	enum { PROGRAM = 50, SOME = 20, WAITS = 10, FEW = 5 };
	const struct jp_image *image = culprit->image;
	const bool starts = culprit->code == JP_CODE_PROGRAM && image->in_jit &&
			    image->starting * FEW < image->samples;
	const bool begins = image->in_jit && image->in_jit * FEW < image->samples;
	uint64_t all = image->samples, part;

	if (starts || (culprit->code == JP_CODE_LIBC && image->in_jit)) {
		const uint64_t waits = culprit->system * WAITS < all ? culprit->system : 0;

		samples -= jp_min(samples, jp_max(culprit->starting, waits));
		all -= image->starting;
	}
	/* Few samples prove little: accept a larger share as usual. */
	part = starts ? PROGRAM : begins ? FEW : samples < FEW ? SOME / 2 : SOME;
	return culprit->code == JP_CODE_SYSTEM || culprit->code == JP_CODE_LOADER ||
	       ((starts || culprit->code == JP_CODE_LIBC) && samples * part < all);
}

/* Returns whether code lacks callers more often than expected: emitted code, than prologues and
 * epilogues explain; libc, whose leaves have no frame on most systems, and files that keep frame
 * pointers except in assembly, than healthy programs call such code. Emitted code without frames
 * never shows a caller in emitted code. */
static bool lacks_callers(const struct jp_culprit *culprit)
{
	enum { HALF = 2, QUARTER = 4 };

	if (culprit->code == JP_CODE_LIBC || (culprit->has_fp && culprit->code != JP_CODE_EMITTED))
		return culprit->no_caller * QUARTER >= culprit->image->samples;
	return culprit->code != JP_CODE_EMITTED || (culprit->no_caller * HALF >= culprit->passing &&
						    !jp_image_shows_callers(culprit->image));
}

static uint64_t count_cost(const struct jp_culprit *culprit)
{
	return (culprit->breaks ? culprit->broken : 0) + (culprit->lacks ? culprit->no_caller : 0) +
	       culprit->shared - culprit->both;
}

static void judge_culprit(struct jp_culprit *culprit)
{
	culprit->breaks = lacks_frame_pointers(culprit);
	culprit->lacks = lacks_callers(culprit);
	if (culprit->code != JP_CODE_EMITTED && is_usual_share(culprit, count_cost(culprit)))
		culprit->breaks = culprit->lacks = false;
}

static void blame_culprit(struct jp_explain_view *view, const struct jp_culprit *culprit)
{
	const uint64_t samples = count_cost(culprit);

	if (samples && culprit->code == JP_CODE_EMITTED)
		blame_emitted(view, culprit, samples);
	else if (samples)
		blame_file(view, culprit, samples);
}

/* Returns whether HotSpot's call stub may call the method at @end, for which code without frames
 * shows the stub, too. Without a name it may, unless other chains lack the stub itself. */
static bool may_be_called_by_stub(struct jp_explain_view *view, const struct jp_end *end)
{
	enum { FEW = 10 };
	static const char *const called[] = {"main",        "run",  "clinit",
					     "Interpreter", "Stub", "Thread"};
	const struct jp_perf_map *map = jp_names_map(view->names, end->image->pid, NULL);
	const char *name = map ? jp_perf_map_find(map, end->addr) : NULL;

	for (size_t i = 0; name && i < sizeof(called) / sizeof(*called); i++)
		if (strstr(name, called[i]))
			return true;
	return !name && end->image->skips_stub * FEW < end->image->in_jit;
}

/* Counts chains that go from a compiled Java method to HotSpot's call stub, although that calls
 * other methods, as chains without the method's caller. Only the launcher calls few methods. */
static void count_stub_calls(struct jp_explain_view *view)
{
	for (size_t i = 0; i < view->ends->count; i++) {
		struct jp_end *end = &view->ends->list[i];
		const char *program = end->image->program;

		if (!end->stubbed || !program || strcmp(jp_path_base(program), "java") != 0 ||
		    may_be_called_by_stub(view, end))
			continue;
		end->skips += end->stubbed;
	}
}

static int blame_culprits(struct jp_explain_view *view, struct jp_error *err)
{
	struct jp_culprits culprits;
	int ret;

	count_stub_calls(view);
	ret = jp_culprits_find(view->ends, &culprits);
	for (size_t i = 0; i < culprits.count; i++)
		judge_culprit(&culprits.list[i]);
	jp_culprits_join(view->ends, &culprits);
	for (size_t i = 0; i < culprits.count && !ret; i++)
		blame_culprit(view, &culprits.list[i]);
	jp_culprits_free(&culprits);
	return ret ? jp_fail(err, -ret, "out of memory") : 0;
}

JP_DEFINE(explainer, frame_pointer) = {
	.name = "frame-pointer",
	.end = blame_culprits,
};
