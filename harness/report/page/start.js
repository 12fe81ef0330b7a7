// SPDX-License-Identifier: GPL-2.0-only
// Shows boards, or a report: the answer, then the picture of one capture.
"use strict";

function showReport() {
	report.cases ? showCases() : showExplanation();
	if (report.without_picture)
		page.append(make("p", {}, `${report.without_picture} cases have no picture here.`));
	page.append(make("section", { id: "picture" }));
	if (!report.pictures.length)
		return;
	followHash();
	window.addEventListener("hashchange", followHash);
	window.addEventListener("resize", () => draw());
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
}

report.format === "jitproof-board" ? showBoardPage() : showReport();
