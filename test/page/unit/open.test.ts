// Files that somebody opens in the page: made by other programs, cut off, or meant to do harm.

import assert from "node:assert/strict";
import { File } from "node:buffer"; // no global before Node.js 20
import * as fs from "node:fs";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import {
  foldedText,
  pprofParts,
  speedscopeText,
} from "../../../cluster-agent/web/src/open/file_exports";
import { fileFunction, fileGraph, type Side } from "../../../cluster-agent/web/src/open/file_graph";
import { parseFrame } from "../../../cluster-agent/web/src/open/folded";
import { littleCovered, scaleBase } from "../../../cluster-agent/web/src/model/comparison";
import { MAX_FILE, openFile, type OpenedFile } from "../../../cluster-agent/web/src/open/open_file";
import { FileError, sumOf } from "../../../cluster-agent/web/src/open/stacks";
import { buildTree, nodeName } from "../../../cluster-agent/web/src/model/tree";

const open = (data: string | Uint8Array, name = "x"): Promise<OpenedFile> =>
  openFile(new File([data], name) as unknown as Parameters<typeof openFile>[0]);

const side = (f: OpenedFile, type = f.main): Side => ({ file: f, type: f.types[type] });

/** Totals by the path of names. */
function pathsOf(s: Side, base: Side | null = null): Record<string, number[]> {
  const t = buildTree(fileGraph(s, base).graph);
  const out: Record<string, number[]> = {};
  const path: string[] = [];
  for (let i = 1; i < t.n; i++) {
    path.length = t.depth[i] - 1;
    path.push(nodeName(t, i));
    out[path.join(";")] = [t.total[i], t.self[i], ...(t.baseTotal ? [t.baseTotal[i]] : [])];
  }
  return out;
}

/** The sentence for a file that cannot be opened. */
async function refusal(data: string | Uint8Array): Promise<string> {
  try {
    await open(data);
  } catch (e) {
    assert.ok(e instanceof FileError, String(e));
    assert.match(e.message, /^[A-Z].{8,200}\.$/);
    return e.message;
  }
  throw new Error("was opened");
}

// ---- a pprof by hand ----

const varint = (n: number | bigint): number[] => {
  let v = BigInt.asUintN(64, BigInt(n));
  const out: number[] = [];
  for (; v >= 128n; v >>= 7n) out.push(Number(v & 127n) | 128);
  return [...out, Number(v)];
};
const num = (field: number, v: number | bigint): number[] => [...varint(field * 8), ...varint(v)];
const msg = (field: number, ...body: number[][]): number[] => {
  const bytes = body.flat();
  return [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
};
const text = (s: string): number[] => msg(6, [...new TextEncoder().encode(s)]);
const pprof = (...parts: number[][]): Uint8Array => Uint8Array.from(parts.flat());
const texts = ["", "samples", "count", "cpu", "milliseconds", "main", "work", "a.c"].map(text);
const types = [msg(1, num(1, 1), num(2, 2)), msg(1, num(1, 3), num(2, 4))];
const fns = [
  msg(5, num(1, 1), num(2, 5), num(4, 7)),
  msg(5, num(1, 2), num(2, 6), num(4, 7)),
];
const BIG = 0xffffffff81000001n;
const locations = [
  msg(4, num(1, 1), msg(4, num(1, 1), num(2, 10))),
  msg(4, num(1, BIG), msg(4, num(1, 2), num(2, 20))),
  msg(4, num(1, BIG + 1n), msg(4, num(1, 2), num(2, 30)), msg(4, num(1, 1), num(2, 11))),
];
const sample = (at: (number | bigint)[], values: (number | bigint)[]): number[] =>
  msg(2, msg(1, ...at.map(varint)), msg(2, ...values.map(varint)));

/** CPU time of one stack, as the server exports a range: with the time that profiles cover. */
const exported = (name: string, ms: number, range: string, coveredS: number) =>
  open(
    pprof(
      msg(1, num(1, 1), num(2, 2)),
      ...fns,
      ...locations,
      sample([BIG, 1], [ms * 1e6]),
      ...["", "ebpf:cpu:nanoseconds", "nanoseconds", "", "", "main", "work", "a.c"].map(text),
      ...["/docker/app", range].map(text),
      num(9, Date.parse("2026-11-20T10:15:00Z") * 1e6),
      num(10, coveredS * 1e9),
      msg(13, varint(8), varint(9)),
    ),
    name,
  );

test("files that say how long they took are compared by what they have per second", async () => {
  const minute = (m: number) => new Date(Date.UTC(2026, 10, 20, 10, m)).toISOString();
  const a = await exported("now", 1220 * 15, `range ${minute(0)}/${minute(15)}`, 900);
  const b = await exported("before", 1000, `range ${minute(-15)}/${minute(0)}`, 60);
  assert.deepEqual([a.from, a.to], [Date.parse(minute(0)), Date.parse(minute(15))]);
  assert.deepEqual([b.to - b.from, b.covered], [900_000, 60_000]);
  const { graph, factor } = fileGraph(side(a), side(b));
  assert.ok(Math.abs(factor - 15) < 1e-9);
  const scaled = scaleBase(graph, factor);
  assert.ok(Math.abs(graph.total / scaled.base!.total - 1.22) < 1e-9);
  assert.equal(littleCovered(graph.base), "60 s of 15 min");
  // it stays so in a file that the page writes of it
  const again = await open(Buffer.concat(pprofParts(side(b))));
  assert.deepEqual([again.from, again.to, again.covered], [b.from, b.to, b.covered]);
  // without a range that it was asked for, a file is as long as it says
  const plain = await exported("plain", 1000, "range unknown", 60);
  assert.equal(plain.to - plain.from, 60_000);
  assert.equal(littleCovered(fileGraph(side(a), side(plain)).graph.base), "");
  // a level has no time, and of folded stacks it is not known
  const level = { ...b, types: [{ ...b.types[0], title: "go:heap_inuse_space:bytes" }] };
  const levels = fileGraph({ file: a, type: { ...a.types[0], title: level.types[0].title } }, {
    file: level,
    type: level.types[0],
  });
  assert.equal(levels.factor, 1);
  assert.equal(fileGraph(side(a), side(await open("main;work 7\n", "x.folded"))).factor, 1);
});

test("a pprof, whatever the order of its parts", async () => {
  const samples = [sample([BIG, 1], [3, 30]), sample([1], [1, 5]), sample([BIG + 1n], [2, 7])];
  const time = [num(9, 1_700_000_000_000_000_000n), num(10, 30_000_000_000)];
  const f = await open(pprof(...samples, ...types, ...time, ...locations, ...texts, ...fns));
  assert.deepEqual(f.types.map((t) => [t.title, t.unit, sumOf(t)]), [
    ["samples", "count", 6],
    ["cpu", "nanoseconds", 42e6],
  ]);
  assert.equal(f.main, 1);
  assert.equal(f.from, 1_700_000_000_000);
  assert.equal(f.to - f.from, 30_000);
  assert.deepEqual(pathsOf(side(f, 0)), { main: [6, 1], "main;work": [5, 5] });
  const lines = fileFunction({ name: "work", file: "a.c" }, side(f, 0), null).lines;
  assert.deepEqual(
    lines.map((l) => [l.line, l.inlined, l.self, l.total]),
    [
      [20, false, 3, 3],
      [30, true, 2, 2],
    ],
  );
});

test("what other profilers wrote: the sums are those of the file", async () => {
  for (const name of ["go_cpu", "go_heap", "node_cpu", "node_heap"]) {
    const data = fs.readFileSync(`test/data/${name}.pb.gz`);
    const [zipped, plain] = [await open(data, name), await open(gunzipSync(data))];
    assert.equal(zipped.format, "pprof");
    assert.deepEqual(zipped.notes, []);
    const { graph } = fileGraph(side(zipped), null);
    assert.equal(graph.total, sumOf(side(plain).type));
    assert.ok(Math.abs(buildTree(graph).total[0] - graph.total) <= graph.total * 1e-9);
    assert.ok(graph.functions.name.length > 3);
  }
});

test("references of a pprof that lead nowhere cost a sample or a name", async () => {
  const odd = [
    sample([99], [1, 1]), // no such location
    sample([1], [1]), // one value of two
    sample([1], [-5, 8]), // a difference
    sample([], [1, 1]),
    sample([7], [1, 1]),
  ];
  const noName = [
    msg(5, num(1, 3), num(2, 1_000_000)),
    msg(4, num(1, 7), num(3, 0x1234), msg(4, num(1, 3))),
  ];
  const f = await open(pprof(...types, ...odd, ...noName, ...locations, ...texts, ...fns));
  assert.deepEqual(pathsOf(side(f, 0)), { "[unknown]": [1, 1], "0x1234": [1, 1] });
  assert.deepEqual(f.notes, [
    "samples at locations that the file does not have: 1",
    "samples without a value for each type: 1",
    "values that are no positive numbers: 1",
    "names that the file does not have: 1",
  ]);
});

test("a stack may have a location as often as it likes", async () => {
  const deep = sample(new Array<number>(5000).fill(1), [1, 1]);
  const f = await open(pprof(...types, deep, ...locations, ...texts, ...fns));
  const t = buildTree(fileGraph(side(f), null).graph);
  assert.equal(t.maxDepth, 4097);
  assert.equal(nodeName(t, 1), "[truncated]");
  assert.match(f.notes.join(), /4,096 frames/);
});

test("damaged bytes are refused with a sentence, and never hang", async () => {
  const whole = pprof(...types, sample([BIG, 1], [3, 30]), ...locations, ...texts, ...fns);
  for (let n = 1; n < whole.length; n++) await open(whole.subarray(0, n)).catch(isSentence);
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed % below;
  };
  for (let i = 0; i < 4000; i++) {
    const bytes = whole.slice();
    for (let k = random(6); k >= 0; k--) bytes[random(bytes.length)] = random(256);
    await open(bytes).then((f) => f.types.forEach((_, t) => pathsOf(side(f, t))), isSentence);
  }
});

function isSentence(e: Error): void {
  assert.ok(e instanceof FileError, e.stack);
}

test("counts that are lies take no memory", async () => {
  const large = [0xff, 0xff, 0xff, 0xff, 0x7f];
  await refusal(Uint8Array.from([...varint(2 * 8 + 2), ...large, 0]));
  await refusal(pprof(...types, msg(2, [...varint(8 + 2), ...large, 0]), ...texts));
  await refusal(pprof(...new Array<number[]>(200).fill(types[0]), ...texts));
});

test("garbage is refused with one sentence", async () => {
  assert.match(await refusal(""), /empty/);
  assert.match(await refusal("Dear all,\nthe meeting is at 10\nin room 7\nsee you\n"), /format/);
  assert.match(await refusal("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), /format/);
  assert.match(await refusal(Uint8Array.from([0xff, 0xfe, 0x41, 0x20, 0x31])), /format/);
  assert.match(await refusal('{"a": 1}'), /no file of speedscope/);
  assert.match(await refusal("{".repeat(100_000)), /format/);
  assert.match(await refusal("FLR\0\0\x02"), /damaged/);
  assert.match(await refusal("a;b 0\n"), /no samples/);
  assert.match(await refusal(Uint8Array.from([0x1f, 0x8b, 8, 0, 1, 2, 3])), /unpacked/);
  assert.match(await refusal(gzipSync("a;b 5\n").subarray(0, 15)), /unpacked/);
});

test("a file that is too large is not read, nor one that becomes too large", async () => {
  const read = (): never => assert.fail("it was read");
  const name = "x";
  const source = { name, size: 5 * MAX_FILE, lastModified: 0, arrayBuffer: read, stream: read };
  await assert.rejects(openFile(source), /500 MiB: the page opens files up to 100 MiB/);
  const bomb = gzipSync(new Uint8Array(401 * 1024 * 1024), { level: 1 });
  assert.match(await refusal(bomb), /larger than 400 MiB/);
});

test("folded stacks, as several profilers write them", async () => {
  const f = await open("# a comment\n\nmain;work 3\r\nmain 1.5\nmain;work;copy_[k] 1e1\nb 1 2\n");
  assert.deepEqual(pathsOf(side(f)), {
    b: [2, 2],
    main: [14.5, 1.5],
    "main;work": [13, 3],
    "main;work;copy": [10, 10],
  });
  const frames = ["f (app.py:12)", "Object#f - app.rb:7", "f(int)", "<module> (<frozen x>)"];
  assert.deepEqual(
    frames.map((t) => parseFrame(t)).map((p) => [p.name, p.file, p.line]),
    [
      ["f", "app.py", 12],
      ["Object#f", "app.rb", 7],
      ["f(int)", "", 0],
      ["<module>", "<frozen x>", 0],
    ],
  );
});

test("hostile names stay names", async () => {
  const f = await open(`__proto__;constructor;${"x".repeat(1e6)} (${"(".repeat(1e5)} 1\n`);
  const [path] = Object.keys(pathsOf(side(f))).slice(-1);
  assert.match(path, /^__proto__;constructor;x+$/);
  assert.equal(path.length, "__proto__;constructor;".length + 4096);
});

const speedscope = (profiles: unknown[]): string =>
  JSON.stringify({
    shared: { frames: [{ name: "a" }, { name: "b", file: "b.c", line: 3 }] },
    profiles,
  });

test("a file of speedscope: samples, events, and profiles together", async () => {
  const event = (type: string, at: number, frame: number) => ({ type, at, frame });
  const events = [event("O", 0, 0), event("O", 2, 1), event("C", 5, 1), event("C", 6, 0)];
  const samples = [[0, 1], [0], []];
  const f = await open(
    speedscope([
      { type: "sampled", name: "t1", unit: "seconds", samples, weights: [2, 1, 9] },
      { type: "evented", name: "t2", unit: "seconds", events },
      { type: "sampled", name: "sizes", unit: "bytes", samples: [[1]], weights: [64] },
    ]),
  );
  assert.deepEqual(f.types.map((t) => [t.title, t.unit, sumOf(t)]), [
    ["all 2 profiles", "nanoseconds", 9e9],
    ["t1", "nanoseconds", 3e9],
    ["t2", "nanoseconds", 6e9],
    ["sizes", "bytes", 64],
  ]);
  assert.deepEqual(pathsOf(side(f)), { a: [9e9, 4e9], "a;b": [5e9, 5e9] });
});

test("a file of speedscope that lies", async () => {
  const disorder = [{ type: "C", at: 1, frame: 0 }, null, { type: "O", at: 0, frame: 0 }];
  const odd = [
    { type: "sampled", samples: [[0], [7], ["x"], [-1], [0.5], "no"], weights: ["1", 1] },
    { type: "evented", events: disorder },
    { type: "evented", events: 5 },
    { type: "neither" },
    null,
  ];
  assert.match(await refusal(speedscope(odd)), /no samples/);
  const good = { type: "sampled", unit: "none", samples: [[0]], weights: [2] };
  const f = await open(speedscope([...odd, good]));
  assert.equal(sumOf(f.types[f.main]), 2);
  assert.match(f.notes.join(), /frames that the file does not have.*out of order.*unknown kind/s);
});

test("two files: functions of two builds are one", async () => {
  const frames = (file: string, n: number): string =>
    JSON.stringify({
      shared: { frames: [{ name: "scan", file }] },
      profiles: [{ type: "sampled", unit: "none", samples: [[0]], weights: [n] }],
    });
  const a = await open(frames("/mod/yaml@v1.3.0/scan.go", 6));
  const b = await open(frames("/mod/yaml@v1.2.3/scan.go", 4));
  assert.deepEqual(pathsOf(side(a), side(b)), { scan: [6, 6, 4] });
  const { graph } = fileGraph(side(a), side(b));
  assert.equal(graph.base?.total, 4);
  assert.deepEqual(graph.functions.baseTotal, [4]);
});

test("too many frames: small stacks are one, and the total stays", async () => {
  const lines = ["hot;path 100"];
  for (let i = 0; i < 310_000; i++) lines.push(`f${i} 1`);
  const { graph, stacksLeftOut } = fileGraph(side(await open(lines.join("\n"))), null);
  const t = buildTree(graph);
  assert.ok(t.n < 300_010);
  assert.ok(stacksLeftOut > 9_000);
  assert.equal(t.total[0], 310_100);
  assert.ok(graph.names.includes("path"));
});

test("exports can be opened again and say the same", async () => {
  const f = await open("main;work (a.py:4) 3\nmain;copy_[k] 5\n");
  const again = await open(speedscopeText(side(f)));
  assert.deepEqual(pathsOf(side(again)), pathsOf(side(f)));
  const folded = await open(foldedText(side(f)));
  assert.deepEqual(pathsOf(side(folded)), pathsOf(side(f)));
  const bytes = Buffer.concat(pprofParts(side(f)));
  assert.deepEqual(pathsOf(side(await open(bytes))), pathsOf(side(f)));
  assert.equal(foldedText(side(await open("=cmd();a\u202eb 1\n"))), "'=cmd();a b 1\n");
});
