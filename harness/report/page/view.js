// SPDX-License-Identifier: GPL-2.0-only
// Puts a picture, its filters, its processes and its flame graphs together, and keeps the address.
"use strict";

// Returns a function that tests a row: whether the sample is in the code of @cause, or a frame of its stack has
// only the name of a mapping of that code.
function makeCauseTest(cause) {
	const { bands, records, stacks, strings } = state.picture;
	const ranges = cause.places.flatMap((place) => place.ranges)
		.map((range) => range.split("-").map((address) => parseInt(address, 16)));
	const meets = (from, to) => ranges.some(([start, end]) => start < to && from < end);
	const findStart = (band, offset) => parseInt(bands[band].start, 16) + offset;
	const names = new Set(records.filter((record) => {
		const start = findStart(record[BOX.band], record[BOX.offset]);
		return meets(start, start + record[BOX.size]);
	}).map((record) => strings[record[BOX.name]]).map((name) => name.startsWith("/") && !name.startsWith("//")
		? name.split("/").pop() : name));
	const concerned = [false];
	for (const [caller, name] of stacks.slice(1))
		concerned.push(concerned[caller] || names.has(strings[name]));
	return (row) => {
		const address = row[BAND] === bands.length ? -1 : findStart(row[BAND], row[OFFSET]);
		return !ranges.length || meets(address, address + 1) || concerned[row[SEEN]];
	};
}

// Returns the rows that pass the filters. @changes: filters to use in place of the current ones.
function selectRows(changes) {
	const { rows, strings, threads } = state.picture;
	const { pid, method, verdict, stack, cause } = { ...state, ...changes };
	const concerns = cause ? makeCauseTest(report.explain.causes[cause - 1]) : () => true;
	return rows.filter((row) => (!pid || threads[row[THREAD]][0] === pid) &&
		(!method || strings[row[METHOD]] === method) &&
		(!verdict || strings[row[VERDICT]] === verdict) && (!stack || isBelow(row[SEEN], stack)) &&
		concerns(row));
}

// Changes filters and shows the rows that pass them.
function filterBy(changes) {
	Object.assign(state, changes);
	if (!("stack" in changes) && !selectRows().length)
		state.stack = 0;
	state.shown = selectRows();
	state.pinned = null;
	find("processes").replaceChildren(makeTree());
	find("graphs").replaceWith(makeGraphs());
	find("verdict").value = state.verdict;
	find("method").value = state.method;
	const { rows, samples, stacks, strings } = state.picture;
	find("count").replaceChildren(`${state.shown.length} of ${rows.length} stacks of ${samples} samples shown`,
		...state.cause ? [", all with code of the cause"] : [],
		...state.stack ? [` below ${strings[stacks[state.stack][1]]}`] : [],
		...state.cause || state.stack ? [" ", make("button", { class: "link",
			onclick: () => filterBy({ cause: 0, stack: 0 }) }, "show all stacks")] : []);
	draw();
}

function makeFilter(key, choices) {
	const select = make("select", { id: key, "aria-label": key }, make("option", { value: "" }, `any ${key}`),
		...choices.map(([value, text]) => make("option", { value }, text)));
	select.addEventListener("change", () => filterBy({ [key]: select.value }));
	return select;
}

function makeSymbol(name) {
	const canvas = make("canvas", { width: 12, height: 12, class: "symbol" });
	const context = canvas.getContext("2d"), look = LOOKS[name] || LOOKS.other;
	context.fillStyle = context.strokeStyle = look[0];
	drawShape(context, look[1], 6, 6);
	return canvas;
}

function makeLegend(verdicts) {
	const { truth, loads, hidden, strings } = state.picture, isMap = (load) => strings[load[BOX.kind]] === "perf map";
	const maps = loads.filter(isMap).length, dumps = loads.length - maps;
	const swatch = (name, text) => make("span", {}, make("i", { class: `swatch ${name}` }), " " + text);
	return [...verdicts.map(([name, text]) => make("span", { class: BAD.has(name) ? "bad" : "" },
		makeSymbol(name), ` ${text}${name in MEANINGS ? `, ${MEANINGS[name]}` : ""}`)),
	...truth.length ? [swatch("true", "true code")] : [], swatch("record", "mapping record, until its mapping ended"),
	...dumps ? [swatch("load", `code published in a jitdump: ${dumps}`)] : [],
	...hidden.length ? [make("b", { class: "bad" }, swatch("hidden", `hidden by a later record: ${hidden.length}`))] : [],
	...maps ? [swatch("load", `lines of a perf map, at the left edge: ${maps}`)] : []];
}

// Returns "from 95 % to 100 %" for the expected range of a figure.
function formatRange([low, high], unit) {
	const words = [["at least", low], ["at most", high]].filter(([, bound]) => bound !== null)
		.map(([word, bound]) => `${word} ${unit === "rate" ? `${+(bound * 100).toFixed(4)} %` : bound}`);
	return low === high ? words[0].replace("at least", "exactly") : words.join(", ");
}

// Lists the figures of a case that have an expectation.
function makeFigures(one) {
	const expected = Object.entries(one.metrics || {}).filter(([, metric]) => metric.expect);
	return make("details", {}, make("summary", {}, `${countWords(expected.length, "figure")} with an expectation`),
		make("table", {}, ...expected.map(([name, { k, n, expect, unit }]) => make("tr", {}, make("td", {}, name),
			make("td", {}, n === undefined ? `${k}` : `${k} of ${n}`), make("td", {}, formatRange(expect, unit))))));
}

function describeCase(name) {
	const one = (report.cases || []).find((other) => other.case === name);
	return one ? [make("p", {}, `${one.outcome}${one.control ? ". A control: its capture is wrong on " +
		"purpose, and passes if that is caught" : ""}. ${one.why}`), makeFigures(one)] : [];
}

function describePicture(picture) {
	return "Time runs to the right, addresses upwards; gaps are folded. Wheel, + and - zoom; 0 shows all." +
		(picture.one_of > 1 ? ` One sample of ${picture.one_of} is shown.` : "") +
		(picture.records_elsewhere ? ` ${countWords(picture.records_elsewhere, "record")} without samples not shown.` : "") +
		(picture.loads_elsewhere ? ` ${countWords(picture.loads_elsewhere, "published range")} without samples not shown.` : "");
}

function showPicture(picture, filters, view) {
	state.picture = picture;
	preparePicture(picture);
	Object.assign(state, { pid: 0, method: "", verdict: "", stack: 0, cause: 0, view }, filters);
	if (!view)
		resetView();
	const { strings, rows } = picture, canvas = make("canvas", { id: "canvas", tabindex: 0, role: "img",
		"aria-label": "addresses over time; arrows move, + and - zoom, 0 shows all" });
	const verdicts = [...countBy(rows, (row) => strings[row[VERDICT]])].map(([name, count]) =>
		[name, `${name}: ${count}`]);
	const methods = [...countBy(rows, (row) => strings[row[METHOD]]).keys()].filter((name) => name);
	find("picture").replaceChildren(make("h2", {}, picture.name), ...describeCase(picture.name),
		make("p", {}, describePicture(picture)),
		make("div", { class: "bar" }, makeFilter("verdict", verdicts),
			makeFilter("method", methods.map((name) => [name, name])), make("span", { id: "count" })),
		make("div", { class: "bar legend" }, ...makeLegend(verdicts)),
		make("div", { class: "view" }, make("nav", { id: "processes", "aria-label": "processes" }),
			make("div", {}, canvas, make("div", { id: "detail" },
				"Point at a sample, an outline or a mark; click to keep it."))),
		make("p", {}, "Each stack from its outermost function downwards. A click shows its samples only."),
		make("div", { id: "graphs" }));
	watchPointer(canvas);
	filterBy({});
}

// Shows a case, or the only file. @view: times and addresses; none: all.
function showSubject(name, filters, view) {
	const picture = report.pictures.find((other) => other.name === name);
	if (picture)
		return showPicture(picture, filters, view);
	state.picture = null;
	find("picture").replaceChildren(make("h2", {}, name), ...describeCase(name));
	if (report.cases.some((one) => one.case === name && one.outcome === "PASS"))
		find("picture").append(make("p", {}, "The page has no room for the picture of this case. Draw it alone: "),
			make("code", {}, `jitproof report ${report.source}/${name} -o case.html`));
	writeHash([name]);
}

// Shows the case and the view that the address names, else the first failed case.
function followHash() {
	const parts = readHash(), [from, to, low, high, pid] = parts.slice(1).map(Number);
	const named = report.pictures.find((picture) => picture.name === parts[0]);
	if (named && to > from && high > low) {
		const stack = Number(parts[8]) || 0;
		return showPicture(named, { pid: pid || 0, method: parts[6] || "", verdict: parts[7] || "",
			stack: stack < named.stacks.length ? stack : 0,
			cause: report.explain?.causes[parts[9] - 1] ? Number(parts[9]) : 0 }, { from, to, low, high });
	}
	const cases = report.cases || [], known = cases.find((one) => one.case === parts[0]),
		failed = cases.find((one) => FAILURES.has(one.outcome));
	showSubject(known ? known.case : failed ? failed.case : report.pictures[0].name);
}
