// What the recordings of this folder say, by a reader that is not ours: the JDK's "jfr print". Run
// it with JDK 17 or newer in PATH after a recording was made anew:
//
//	node test/data/jfr/golden.js
//
// Each line of NAME.golden is one kind of value, class and stack: kind, count, amount, class and
// frames from the leaf, separated by tabs.
//
// The recordings were made with async-profiler 4.6 on JDK 17:
//
//	javac Demo.java
//	java -agentpath:libasyncProfiler.so=start,jfr,jfropts=31,file=NAME.jfr,OPTIONS Demo MS
//	  async    event=ctimer,interval=10ms,alloc=64k,lock=100us
//	  wall     event=ctimer,interval=5ms,wall=20ms
//	  nobatch  event=cpu,interval=10ms,wall=40ms,nobatch,alloc=512k,live
//	  tsc      event=itimer,interval=20ms,alloc=2m,lock=10ms,clock=tsc
//	java -XX:StartFlightRecording=filename=jdk.jfr,settings=small.jfc Demo 1200
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const zlib = require("zlib");

const intervals = {
	async: { cpu: 10e6, alloc: 65536, lock: 100e3 },
	wall: { cpu: 5e6, wall: 20e6 },
	nobatch: { cpu: 10e6, wall: 40e6, alloc: 524288 },
	tsc: { cpu: 20e6, alloc: 2097152, lock: 10e6 },
	jdk: { cpu: 10e6, native: 20e6, isJdk: true },
};

function folded(name) {
	return name
		.replace(/\//g, ".")
		.replace(/([.+]0x[0-9a-f]+)?(\.\d+)?$/, "")
		.replace(/(handlers\.EventHandler)\d+_[\d-]+$/, "$1")
		.replace(/\$\$Lambda\$\d+$/, "$$$$Lambda")
		.replace(/(\$Proxy|LambdaForm\$D?MH)\d+$/, "$1");
}

function className(c) {
	if (!c) return "-";
	const primitive = {
		B: "byte",
		C: "char",
		I: "int",
		J: "long",
		Z: "boolean",
		S: "short",
		F: "float",
		D: "double",
	};
	const [, dimensions, rest] = /^(\[*)(.*)$/.exec(c.name);
	if (dimensions === "") return folded(rest);
	const element = primitive[rest] || folded(rest.replace(/^L(.*);$/, "$1"));
	return element + "[]".repeat(dimensions.length);
}

function frame(f, isJdk) {
	const { type, name } = f.method;
	if (!isJdk && ["Native", "C++", "Kernel"].includes(f.type))
		return type.name === "" && /^(unknown|break_|not_walkable|no_Java_frame)/.test(name)
			? `[${name}]`
			: name.replace(/(?<=.)@.*/, "");
	return `${folded(type.name)}.${name}:${Math.max(0, f.lineNumber)}`;
}

function nanoseconds(text) {
	const [, hours, minutes, seconds] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(text);
	return Math.round(((hours || 0) * 3600 + (minutes || 0) * 60 + +(seconds || 0)) * 1e9);
}

// kind, count, amount and class of an event
function value(e, on) {
	const v = e.values;
	const sampled = (size) =>
		on.alloc && size > 0 ? size / -Math.expm1(-size / on.alloc) : size;
	const waited = (kind, c) => {
		const ns = nanoseconds(v.duration);
		const short = on.lock && ns < on.lock && kind !== "wait";
		return [kind, short ? on.lock / ns : 1, short ? on.lock : ns, className(c)];
	};
	switch (e.type) {
	case "jdk.ExecutionSample": {
		const isWall = !on.isJdk && v.state !== "STATE_DEFAULT";
		return [isWall ? "wall" : "cpu", 1, isWall ? on.wall : on.cpu, "-"];
	}
	case "jdk.NativeMethodSample":
		return ["native", 1, on.native, "-"];
	case "profiler.WallClockSample":
		return ["wall", v.samples, v.samples * on.wall, "-"];
	case "jdk.ObjectAllocationSample":
		return ["alloc", 1, v.weight, className(v.objectClass)];
	case "jdk.ObjectAllocationInNewTLAB": {
		const bytes = on.isJdk ? v.tlabSize : sampled(v.allocationSize);
		return ["alloc", bytes / v.allocationSize, bytes, className(v.objectClass)];
	}
	case "jdk.ObjectAllocationOutsideTLAB":
		return ["alloc", 1, v.allocationSize, className(v.objectClass)];
	case "profiler.LiveObject": {
		const bytes = sampled(v.allocationSize);
		return ["live", bytes / v.allocationSize, bytes, className(v.objectClass)];
	}
	case "jdk.JavaMonitorEnter":
		return waited("lock", v.monitorClass);
	case "jdk.JavaMonitorWait":
		return waited("wait", v.monitorClass);
	case "jdk.ThreadPark":
		const isLock = /locks.Reentrant/.test(v.parkedClass && v.parkedClass.name);
		return waited(isLock ? "lock" : "park", v.parkedClass);
	default:
		return null;
	}
}

function golden(name) {
	const on = intervals[name];
	const file = path.join(os.tmpdir(), `golden-${process.pid}.jfr`);
	const sums = new Map();

	const packed = fs.readFileSync(path.join(__dirname, `${name}.jfr.gz`));
	fs.writeFileSync(file, zlib.gunzipSync(packed));
	const args = ["print", "--json", "--stack-depth", "4096", file];
	const json = execFileSync("jfr", args, { maxBuffer: 1 << 30 });
	fs.unlinkSync(file);
	for (const e of JSON.parse(json).recording.events) {
		const v = value(e, on);
		if (!v) continue;
		const trace = e.values.stackTrace ? e.values.stackTrace.frames : [];
		const frames = trace.map((f) => frame(f, on.isJdk));
		if (frames.length === 0) frames.push("[unknown]");
		const key = [v[3], ...frames].join("\t");
		const sum = sums.get(`${v[0]}\t${key}`) || [v[0], 0, 0, key];
		sum[1] += v[1];
		sum[2] += v[2];
		sums.set(`${v[0]}\t${key}`, sum);
	}
	const line = (s) => [s[0], Math.round(s[1]), Math.round(s[2]), s[3]].join("\t");
	return `${[...sums.values()].map(line).sort().join("\n")}\n`;
}

for (const name of Object.keys(intervals))
	fs.writeFileSync(path.join(__dirname, `${name}.golden`), golden(name));
