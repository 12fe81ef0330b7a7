// SPDX-License-Identifier: GPL-2.0-only
// Shows boards, or a report: the answer, then the picture of one capture.
"use strict";

function showReport() {
	report.cases ? showCases() : showExplanation();
	if (report.without_picture)
		page.append(make("p", {}, `${countWords(report.without_picture, "case")} without a picture.`));
	page.append(make("section", { id: "picture" }));
	if (!report.pictures.length && !(report.cases || []).length)
		return;
	followHash();
	const redraw = () => state.picture && draw();
	window.addEventListener("hashchange", followHash);
	window.addEventListener("resize", redraw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

report.format === "jitproof-board" ? showBoardPage() : showReport();
