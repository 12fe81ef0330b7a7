// SPDX-License-Identifier: GPL-2.0-only
// Draws a report (docs/report-format.md): first the answer, then the picture of one capture.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const BAD = new Set(["unmapped", "wrong", "extra", "single", "short", "hole"]);
// Okabe and Ito's palette, which colour-blind readers can distinguish; each verdict has a shape, too.
const LOOKS = {
	exact: ["#0072b2", "dot"], gap: ["#56b4e9", "dot"], unmapped: ["#d55e00", "cross"],
	single: ["#cc79a7", "square"], short: ["#e69f00", "triangle"], hole: ["#a0522d", "ring"],
	wrong: ["#d00000", "plus"], extra: ["#7a3fb0", "plus"], unjudged: ["#888888", "dot"],
	outside: ["#aaaaaa", "dot"], kernel: ["#aaaaaa", "dot"], file: ["#0072b2", "dot"],
	anon: ["#009e73", "square"], memfd: ["#e69f00", "triangle"], other: ["#888888", "ring"],
};
// Columns of a row, a box and a mark.
const TIME = 0, PID = 1, TID = 2, BAND = 3, OFFSET = 4, METHOD = 5, VERDICT = 6, CAUSE = 7,
	SEEN = 8, TRUE = 9;
const state = { picture: null, view: null, pid: 0, verdict: "", method: "", pinned: null };

// Creates an element. Texts come from files, so they never become markup.
function make(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		name === "onclick" ? element.addEventListener("click", value)
			: element.setAttribute(name, value);
	element.append(...children.filter((child) => child !== null));
	return element;
}

function writeHash() {
	const view = state.view;
	const parts = [state.picture.name, view.from, view.to, view.low, view.high, state.pid,
		state.method, state.verdict];
	history.replaceState(null, "", "#" + parts.map(encodeURIComponent).join("&"));
}

function openPicture(name) {
	choosePicture(report.pictures.find((picture) => picture.name === name));
	document.getElementById("picture").scrollIntoView();
}

function makeCaseLink(name) {
	return report.pictures.some((picture) => picture.name === name)
		? make("button", { class: "link", onclick: () => openPicture(name) }, name)
		: make("span", {}, name);
}

function showCases() {
	const failed = report.cases.filter((one) =>
		["FAIL", "ERROR", "XPASS", "TIMEOUT", "CRASH"].includes(one.outcome));
	page.append(make("h1", {}, failed.length
		? `${failed.length} of ${report.cases.length} cases failed`
		: `None of ${report.cases.length} cases failed`));
	for (const one of failed)
		page.append(make("div", { class: "fault" }, makeCaseLink(one.case), " ",
			make("span", { class: "bad" }, one.outcome), make("br"),
			one.why.split("\n")[0], make("br"),
			make("code", {}, `jitproof judge -v ${report.source}/${one.case}`)));
	const studies = new Map();
	for (const one of report.cases)
		studies.set(one.study, [...(studies.get(one.study) || []), one]);
	for (const [study, cases] of studies) {
		const list = make("details", {}, make("summary", {}, `${study}: ${cases.length} cases, ` +
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
		? `${explain.causes.length} causes of broken stacks and missing names`
		: "No cause of broken stacks or missing names"));
	page.append(make("p", {}, `${explain.file}: ${explain.samples} samples.`));
	for (const cause of explain.causes)
		page.append(make("div", { class: "fault" },
			make("button", { class: "link", onclick: () => {
				state.pid = cause.pid || 0;
				openPicture(report.pictures[0].name);
			} }, `${cause.text}`), ` (${cause.id}, ${cause.samples} samples)`,
			make("br"), cause.evidence.join(" "), make("br"), make("code", {}, cause.remedy || "")));
}

// Returns the rows that the filters keep.
function filterRows() {
	const { rows, strings } = state.picture;
	return rows.filter((row) => (!state.pid || row[PID] === state.pid) &&
		(!state.method || strings[row[METHOD]] === state.method) &&
		(!state.verdict || strings[row[VERDICT]] === state.verdict));
}

// Stacks the bands: a larger one is taller, but only with the logarithm of its size. Bands with true
// code are what the reader looks for.
function layBands(picture) {
	const coded = new Set(picture.truth.map((box) => box[1]));
	const heights = picture.bands.map((band, i) =>
		(1 + Math.log2(1 + band.size / 4096)) * (coded.has(i) ? 5 : 1));
	const total = heights.reduce((sum, height) => sum + height, 0) + 1.5;
	let at = 1.5 / total;
	picture.lanes = heights.map((height) => {
		const lane = { at: at + 0.006, height: Math.max(height / total - 0.012, 0.002) };
		at += height / total;
		return lane;
	});
}

function findHeight(band, offset) {
	const lane = state.picture.lanes[band];
	return lane ? lane.at + lane.height * offset / state.picture.bands[band].size : 0.01;
}

function makeScale(canvas) {
	const view = state.view, width = canvas.clientWidth, height = canvas.clientHeight;
	return {
		width, height,
		x: (time) => (time - view.from) / (view.to - view.from) * width,
		y: (at) => height - (at - view.low) / (view.high - view.low) * height,
	};
}

function drawShape(context, shape, x, y) {
	context.beginPath();
	switch (shape) {
	case "cross": context.moveTo(x - 3, y - 3); context.lineTo(x + 3, y + 3);
		context.moveTo(x - 3, y + 3); context.lineTo(x + 3, y - 3); return context.stroke();
	case "plus": context.moveTo(x - 4, y); context.lineTo(x + 4, y);
		context.moveTo(x, y - 4); context.lineTo(x, y + 4); return context.stroke();
	case "ring": context.arc(x, y, 3, 0, 7); return context.stroke();
	case "triangle": context.moveTo(x, y - 4); context.lineTo(x + 3, y + 3);
		context.lineTo(x - 3, y + 3); return context.fill();
	case "square": return context.fillRect(x - 2.5, y - 2.5, 5, 5);
	default: return context.fillRect(x - 1, y - 1, 2, 2);
	}
}

function drawBoxes(context, scale, boxes, paint) {
	for (const box of boxes) {
		if (state.pid && box[PID - 1] !== state.pid)
			continue;
		const left = scale.x(box[4]), right = scale.x(box[5]);
		const top = scale.y(findHeight(box[1], box[2] + box[3])), bottom = scale.y(findHeight(box[1], box[2]));
		if (right >= 0 && left <= scale.width)
			paint(context, left, top, Math.max(right - left, 1), Math.max(bottom - top, 1));
	}
}

function draw() {
	const canvas = document.getElementById("canvas"), picture = state.picture;
	const ratio = window.devicePixelRatio || 1, scale = makeScale(canvas);
	const style = getComputedStyle(document.body), ink = style.getPropertyValue("--ink");
	const context = canvas.getContext("2d");
	canvas.width = scale.width * ratio;
	canvas.height = scale.height * ratio;
	context.scale(ratio, ratio);
	context.font = "11px system-ui, sans-serif";
	picture.lanes.forEach((lane) => {
		context.fillStyle = style.getPropertyValue("--soft");
		const top = scale.y(lane.at + lane.height);
		context.fillRect(0, top, scale.width, scale.y(lane.at) - top);
	});
	context.fillStyle = "#009e7355";
	drawBoxes(context, scale, picture.truth, (to, ...area) => to.fillRect(...area));
	context.strokeStyle = ink;
	context.lineWidth = 0.5;
	drawBoxes(context, scale, picture.records, (to, ...area) => to.strokeRect(...area));
	context.lineWidth = 1;
	for (const row of filterRows()) {
		const look = LOOKS[picture.strings[row[VERDICT]]] || LOOKS.other;
		const x = scale.x(row[TIME]);
		if (x < 0 || x > scale.width)
			continue;
		context.fillStyle = context.strokeStyle = look[0];
		drawShape(context, look[1], x, scale.y(findHeight(row[BAND], row[OFFSET])));
	}
	context.fillStyle = context.strokeStyle = ink;
	let labelled = -100;
	for (const mark of picture.marks) {
		const x = scale.x(mark[0]), kind = picture.strings[mark[2]];
		if (kind === "name" || (state.pid && mark[1] && mark[1] !== state.pid) || x < 0 || x > scale.width)
			continue;
		context.setLineDash([3, 3]);
		context.strokeRect(x, 0, 0, scale.height);
		context.setLineDash([]);
		if (x - labelled > 70) {
			context.fillText(`${kind} ${picture.strings[mark[3]]}`, Math.min(x + 3, scale.width - 90), 11);
			labelled = x;
		}
	}
	picture.bands.forEach((band, i) => {
		const records = picture.records.filter((box) => box[1] === i && (!state.pid || box[0] === state.pid));
		const record = records.find((box) => picture.strings[box[7]] !== "file") || records[0];
		context.fillText(`0x${band.start} ` +
			(record ? picture.strings[record[6]] : "no mapping record covers this code"), 4,
		scale.y(picture.lanes[i].at) - 3);
	});
	context.fillText("elsewhere", 4, scale.y(0) - 3);
	document.getElementById("count").textContent = `${filterRows().length} of ${picture.rows.length} ` +
		`stacks of ${picture.samples} samples shown`;
	writeHash();
}

function describeStack(number) {
	return nameStack(number).map((name, i) => `${i ? "  " : "> "}${name}`).join("\n") || "(none)";
}

function nameStack(number) {
	return state.picture.stacks[number].map((name) => state.picture.strings[name]);
}

function showDetail(row) {
	const strings = state.picture.strings, detail = document.getElementById("detail");
	const seen = make("div", {}, `seen\n${describeStack(row[SEEN])}`);
	detail.replaceChildren(`${strings[row[VERDICT]]} ${strings[row[CAUSE]]} at ${row[TIME] / 1000} ms, ` +
		`process ${row[PID]}, thread ${row[TID]}, method ${strings[row[METHOD]] || "none"}\n`,
		make("div", { class: "stacks" }, seen, state.picture.has_truth
			? make("div", {}, `true\n${describeStack(row[TRUE])}`) : null));
}

function showBox(box, title) {
	const { strings, bands } = state.picture;
	document.getElementById("detail").textContent = `${title}: ${strings[box[6]]} (${strings[box[7]]})\n` +
		`0x${(BigInt("0x" + bands[box[1]].start) + BigInt(box[2])).toString(16)}, ${box[3]} bytes, ` +
		`process ${box[0]}, from ${box[4] / 1000} ms`;
}

// Shows the sample near the pointer, or else the smallest record or true code below it.
function point(event, pin) {
	if (state.pinned && !pin)
		return;
	const canvas = document.getElementById("canvas"), scale = makeScale(canvas);
	let best = null, distance = 64;
	for (const row of filterRows()) {
		const x = scale.x(row[TIME]) - event.offsetX;
		const y = scale.y(findHeight(row[BAND], row[OFFSET])) - event.offsetY;
		if (x * x + y * y < distance)
			[best, distance] = [row, x * x + y * y];
	}
	state.pinned = pin ? best : null;
	if (best)
		return showDetail(best);
	const covers = (box) => (!state.pid || box[0] === state.pid) &&
		scale.x(box[4]) <= event.offsetX && event.offsetX <= scale.x(box[5]) &&
		scale.y(findHeight(box[1], box[2] + box[3])) <= event.offsetY &&
		event.offsetY <= scale.y(findHeight(box[1], box[2]));
	const code = state.picture.truth.filter(covers).pop(), record = state.picture.records.filter(covers).pop();
	if (code || record)
		showBox(code || record, code ? "true code" : "mapping record");
}

function zoom(factor, x, y) {
	const view = state.view, time = view.from + (view.to - view.from) * x;
	const at = view.low + (view.high - view.low) * (1 - y);
	view.from = time - (time - view.from) * factor;
	view.to = time + (view.to - time) * factor;
	if (y >= 0) {
		view.low = at - (at - view.low) * factor;
		view.high = at + (view.high - at) * factor;
	}
	draw();
}

function pan(x, y) {
	const view = state.view, time = (view.to - view.from) * x, at = (view.high - view.low) * y;
	view.from += time;
	view.to += time;
	view.low += at;
	view.high += at;
	draw();
}

function resetView() {
	state.view = { from: 0, to: state.picture.length || 1, low: 0, high: 1 };
}

function handleKey(event) {
	const keys = {
		"+": () => zoom(0.7, 0.5, 0.5), "-": () => zoom(1.4, 0.5, 0.5),
		ArrowLeft: () => pan(-0.1, 0), ArrowRight: () => pan(0.1, 0),
		ArrowUp: () => pan(0, 0.1), ArrowDown: () => pan(0, -0.1),
		0: () => { resetView(); draw(); }, Escape: () => { state.pinned = null; },
	};
	if (keys[event.key]) {
		keys[event.key]();
		event.preventDefault();
	}
}

function watchPointer(canvas) {
	const touches = new Map();
	let moved = false;
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		zoom(event.deltaY < 0 ? 0.8 : 1.25, event.offsetX / canvas.clientWidth,
			event.shiftKey ? -1 : event.offsetY / canvas.clientHeight);
	}, { passive: false });
	canvas.addEventListener("pointerdown", (event) => {
		touches.set(event.pointerId, event);
		canvas.setPointerCapture(event.pointerId);
		moved = false;
	});
	canvas.addEventListener("pointermove", (event) => {
		const last = touches.get(event.pointerId);
		if (!last)
			return point(event, false);
		const others = [...touches.values()].filter((one) => one.pointerId !== event.pointerId);
		if (others.length) {
			const spread = (one) => Math.hypot(one.offsetX - others[0].offsetX, one.offsetY - others[0].offsetY) || 1;
			zoom(spread(last) / spread(event), event.offsetX / canvas.clientWidth, event.offsetY / canvas.clientHeight);
		} else if (moved || Math.hypot(event.offsetX - last.offsetX, event.offsetY - last.offsetY) > 3) {
			moved = true;
			pan((last.offsetX - event.offsetX) / canvas.clientWidth, (event.offsetY - last.offsetY) / canvas.clientHeight);
		} else {
			return;
		}
		touches.set(event.pointerId, event);
	});
	for (const name of ["pointerup", "pointercancel"])
		canvas.addEventListener(name, (event) => {
			touches.delete(event.pointerId);
			if (name === "pointerup" && !moved)
				point(event, true);
		});
	canvas.addEventListener("keydown", handleKey);
}

function countBy(rows, column) {
	const counts = new Map();
	for (const row of rows)
		counts.set(row[column], (counts.get(row[column]) || 0) + 1);
	return counts;
}

function makeFilter(key, choices) {
	const select = make("select", { id: key, "aria-label": key }, make("option", { value: "" }, `any ${key}`),
		...choices.map(([value, text]) => make("option", { value }, text)));
	select.value = state[key];
	select.addEventListener("change", () => { state[key] = select.value; draw(); });
	return select;
}

function makeTree() {
	const picture = state.picture, counts = countBy(picture.rows, PID), names = new Map();
	for (const mark of picture.marks)
		if (["name", "exec"].includes(picture.strings[mark[2]]))
			names.set(mark[1], picture.strings[mark[3]]);
	const tree = make("div", { class: "tree" });
	for (const [pid, text] of [[0, "all processes"], ...[...counts].map(([one, count]) =>
		[one, `${names.get(one) || "process"} ${one}: ${count}`])])
		tree.append(make("button", { "aria-pressed": state.pid === pid, onclick: () => {
			state.pid = pid;
			tree.replaceWith(makeTree());
			draw();
		} }, text));
	return tree;
}

function describeCase(name) {
	const one = (report.cases || []).find((other) => other.case === name);
	return one ? [make("p", {}, `${one.outcome}${one.control ? ". A control: its capture is wrong on " +
		"purpose, and passes if that is caught" : ""}. ${one.why}`)] : [];
}

function choosePicture(picture, keepsView) {
	state.picture = picture;
	layBands(picture);
	if (!keepsView) {
		resetView();
		state.method = state.verdict = "";
		if (!picture.rows.some((row) => row[PID] === state.pid))
			state.pid = 0;
	}
	const { strings, rows } = picture, canvas = make("canvas", { id: "canvas", tabindex: 0, role: "img",
		"aria-label": "addresses over time; arrows move, + and - zoom, 0 shows all" });
	const legend = [...countBy(rows, VERDICT)].map(([verdict, count]) => [strings[verdict], `${strings[verdict]}: ${count}`]);
	const methods = [...countBy(rows, METHOD).keys()].map((method) => [strings[method], strings[method]]);
	document.getElementById("picture").replaceChildren(
		make("h2", {}, picture.name), ...describeCase(picture.name),
		make("p", {}, "Time runs to the right, addresses upwards; gaps are folded. Green: true code. " +
			"Outlines: mapping records, from when they came. Points: samples." +
			(picture.one_of > 1 ? ` One sample of ${picture.one_of} is shown.` : "") +
			(picture.records_elsewhere ? ` ${picture.records_elsewhere} records without samples are hidden.` : "")),
		make("div", { class: "bar" }, makeFilter("verdict", legend),
			makeFilter("method", methods.filter(([name]) => name)), make("span", { id: "count" }),
			...legend.map(([name, text]) => make("span", { class: BAD.has(name) ? "bad" : "" },
				makeSymbol(name), " " + text))),
		make("div", { class: "view" }, makeTree(), make("div", {}, canvas,
			make("div", { id: "detail" }, "Point at a sample or an outline; click to keep it."))));
	watchPointer(canvas);
	draw();
}

function makeSymbol(name) {
	const canvas = make("canvas", { width: 12, height: 12, style: "width:12px;height:12px;border:0;display:inline" });
	const context = canvas.getContext("2d"), look = LOOKS[name] || LOOKS.other;
	context.fillStyle = context.strokeStyle = look[0];
	drawShape(context, look[1], 6, 6);
	return canvas;
}

// Shows the picture and the view that the address names, else the first failed case.
function readHash() {
	const parts = location.hash.slice(1).split("&").map(decodeURIComponent);
	const named = report.pictures.find((picture) => picture.name === parts[0]);
	const [from, to, low, high, pid] = parts.slice(1).map(Number);
	if (named && to > from && high > low) {
		Object.assign(state, { view: { from, to, low, high }, pid, method: parts[6], verdict: parts[7] });
		return choosePicture(named, true);
	}
	const failed = (report.cases || []).find((one) => one.outcome !== "PASS" &&
		report.pictures.some((picture) => picture.name === one.case));
	return choosePicture(named || report.pictures.find((picture) => failed && picture.name === failed.case) ||
		report.pictures[0]);
}

report.cases ? showCases() : showExplanation();
if (report.without_picture)
	page.append(make("p", {}, `${report.without_picture} cases have no picture here.`));
page.append(make("section", { id: "picture" }));
if (report.pictures.length) {
	readHash();
	window.addEventListener("hashchange", readHash);
	window.addEventListener("resize", draw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
