// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "harness/explain/explainer.h"

static const char *remedy_of(const char *interpreter)
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

static int end(struct jp_explain_view *view, struct jp_error *err)
{
	for (size_t i = 0; i < view->ends->nr_images; i++) {
		const struct jp_image *image = view->ends->all[i];
		struct jp_blame *blame;

		/* Where stacks break, that is what is to be mended first. */
		if (!image->interpreted || image->interpreted * 2 < image->samples)
			continue;
		blame = jp_blame(view->blames, "interpreter", image->pid, image->process,
				 image->interpreter, image->interpreted);
		if (!blame)
			return jp_fail(err, ENOMEM, "no memory");
		jp_blame_evidence(blame,
				  "%" PRIu64 " of %" PRIu64
				  " stacks of the process are whole and go through "
				  "%s",
				  image->interpreted, image->samples, image->interpreter);
		jp_blame_evidence(blame, "no frame of theirs is in emitted code%s",
				  image->anon ? "" : ": the process has none");
		jp_blame_evidence(blame, "see them: perf script -i %s --pid %u -F ip,sym,dso",
				  view->path, image->pid);
		jp_blame_remedy(blame, "%s", remedy_of(image->interpreter));
	}
	return 0;
}

static const struct jp_explainer interpreter = {
	.name = "interpreter",
	.end = end,
};
JP_REGISTER(explainer, interpreter);
