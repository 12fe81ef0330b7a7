// SPDX-License-Identifier: GPL-2.0-only
// The answer comes first: failed cases of a run, or causes in a file.
"use strict";

function openPicture(name, filters) {
	showSubject(name, filters);
	find("picture").scrollIntoView();
}

function makeCaseLink(name) {
	return make("button", { class: "link", onclick: () => openPicture(name) }, name);
}

function showCases() {
	const failed = report.cases.filter((one) => FAILURES.has(one.outcome));
	page.append(make("h1", {}, report.cases.length === 1 ? `${report.cases[0].outcome} ${report.cases[0].case}`
		: `${failed.length || "None"} of ${report.cases.length} cases failed`));
	for (const one of failed)
		page.append(make("div", { class: "fault" }, makeCaseLink(one.case), " ",
			make("span", { class: "bad" }, one.outcome), make("br"),
			one.fault, make("br"),
			make("code", {}, `jitproof show ${one.case} ${report.source}`)));
	const studies = new Map();
	for (const one of report.cases)
		studies.set(one.study, [...(studies.get(one.study) || []), one]);
	for (const [study, cases] of studies) {
		const list = make("details", {}, make("summary", {}, `${study}: ${countWords(cases.length, "case")}, ` +
			`${cases.filter((one) => failed.includes(one)).length} failed`));
		for (const one of cases)
			list.append(make("div", {}, makeCaseLink(one.case), ` ${one.outcome}` +
				(one.control ? " (a control: a wrong capture that must be caught)" : "")));
		page.append(list);
	}
}

function showExplanation() {
	const explain = report.explain;
	page.append(make("h1", {}, explain.causes.length
		? `${countWords(explain.causes.length, "cause")} of broken stacks and missing names`
		: "No cause of broken stacks or missing names"));
	page.append(make("p", {}, `${explain.file}: ${explain.samples} samples.`));
	for (const [number, cause] of explain.causes.entries())
		page.append(make("div", { class: "fault" },
			make("button", { class: "link", onclick: () => openPicture(report.pictures[0].name,
				{ pid: cause.pid || 0, cause: number + 1 }) },
				cause.text), ` (${cause.id}, ${countWords(cause.samples, "sample")})`,
			make("ul", {}, ...cause.evidence.map((line) => make("li", {}, line))),
			cause.remedy ? make("code", {}, cause.remedy) : null));
}
