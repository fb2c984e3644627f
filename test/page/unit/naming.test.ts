import assert from "node:assert/strict";
import * as fs from "node:fs";
import { test } from "node:test";
import {
  adviceDocs,
  endsNameless,
  hasFewNames,
  namingNotes,
  namingOf,
  type Naming,
} from "../../../cluster-agent/web/src/model/naming";
import { qualityLevel } from "../../../cluster-agent/web/src/model/quality";
import type { TreeColumns } from "../../../cluster-agent/web/src/model/tree";

/** "process;function@file;…", root first, with the value on each side. */
type Stack = [stack: string, value: number, base?: number];

/** Columns of the merged stacks; what is below `cut` frames is left out. */
function columnsOf(stacks: Stack[], cut = Infinity): TreeColumns {
  const names = ["total"];
  const files = [""];
  const id = (list: string[], text: string): number =>
    list.includes(text) ? list.indexOf(text) : list.push(text) - 1;
  const two = stacks.some((s) => s.length > 2);
  const nodes = { name: [0], file: [0], depth: [0], total: [0], self: [0] };
  const base = { baseTotal: [0], baseSelf: [0] };
  // a path for each stack: merging changes no sum
  for (const [stack, value, before = 0] of stacks) {
    nodes.total[0] += value;
    base.baseTotal[0] += before;
    const frames = stack.split(";");
    frames.slice(0, cut).forEach((f, i) => {
      const [name, file = ""] = f.split("@");
      nodes.name.push(id(names, name));
      nodes.file.push(id(files, file));
      nodes.depth.push(i + 1);
      nodes.total.push(value);
      nodes.self.push(i === frames.length - 1 ? value : 0);
      base.baseTotal.push(before);
      base.baseSelf.push(i === frames.length - 1 ? before : 0);
    });
  }
  return { names, files, nodes: { ...nodes, ...(two ? base : {}) } };
}

const own = (...stacks: Stack[]): Naming => namingOf(columnsOf(stacks))!.own;
const whatLacks = (n: Naming): string[] => n.lacking.map((l) => l.what);

const named = [
  "shop;main@[shop];work@[shop]",
  "shop;shop+0x40@[shop];main@[shop];malloc@[libc.so.6]",
  "shop;main.main@/src/main.go;runtime.mallocgc@/go/malloc.go",
  // neither libc's entry nor what a thread of the runtime does is missing a name
  "shop;libc.so.6+0x29d8f@[libc.so.6];main@[shop]",
  "shop;libc.so.6+0x94ac3@[libc.so.6];read@[libc.so.6]",
  "java;start_thread@[libc.so.6];libjvm.so+0x8a1@[libjvm.so:00112233]",
  "java;GCTaskThread::run()@[libjvm.so]",
  "java;JavaCalls::call_helper(JavaValue*)@[libjvm.so];shop.Cart.add@shop/Cart;[unknown]",
  "node;Builtins_JSEntry@[node];handle@/app/a.js",
  "node;v8::internal::Scavenger::Process()@[node]",
  "app;[jvm]@[jvm];shop.Cart.add@shop/Cart",
  "dotnet;libcoreclr.so+0x12@[libcoreclr.so];App.Main.Run@[App]",
  "beam.smp;beam.smp+0x12@[beam.smp];$lists:map/2@[lists]",
  "python3;Py_RunMain@[python3.11];<module>@/app/a.py;_PyObject_Malloc@[python3.11]",
  "python3;<frozen runpy>@<frozen runpy>;python3.11+0x12@[python3.11]",
  "kworker/0:1;ret_from_fork@[kernel];worker_thread@[kernel]",
  "[unknown];do_syscall_64@[kernel];[unknown]@[kernel]",
  "sh;[truncated];read@[libc.so.6]",
  "python3;(waiting for the GIL)",
  "main;foo;bar", // folded stacks have no files
  "redis;luaV_execute@[redis-server];cmd@/app/x.lua",
  // a program may have functions of the same names
  "own;main@[own];vm_exec@[own]",
  "own;main@[own];process_main@[own]",
  "pythonista;main@[pythonista]",
  "shop",
];

test("a stack with a function of the program has names, and so has a thread of the runtime", () => {
  for (const stack of named) {
    const n = own([stack, 7]);
    assert.deepEqual([n.known, n.named, whatLacks(n)], [7, 7, []], stack);
  }
});

const unnamed: [string, string][] = [
  ["python3;Py_RunMain@[python3.11];_PyEval_EvalFrameDefault@[python3.11]", "python"],
  ["python3;_PyEval_EvalFrameDefault.cold@[libpython3.11.so.1.0];deflate@[libz.so.1]", "python"],
  ["uwsgi;main@[uwsgi];PyEval_EvalCode@[uwsgi]", "python"],
  ["python3;python3.11+0x12@[python3.11]", "python"],
  ["python3;[unknown]@[interpreter];_PyObject_Malloc@[python3.11]", "python"],
  ["perl;perl+0x196480@[perl]", "perl"],
  ["perl;Perl_runops_standard@[libperl.so.5.36];Perl_pp_add@[libperl.so.5.36]", "perl"],
  ["ruby;vm_exec_core@[libruby-3.1.so.3.1]", "ruby"],
  ["php-fpm8.2;execute_ex@[php-fpm8.2]", "php"],
  ["apache2;main@[apache2];execute_ex@[libphp8.2.so]", "php"],
  ["redis;main@[redis-server];luaV_execute@[redis-server]", "lua"],
  ["nginx;main@[nginx];lj_BC_CALL@[libluajit-5.1.so.2]", "lua"],
  ["node;node::Start(int, char**)@[node];Builtins_JSEntry@[node];[unknown]", "nodejs"],
  ["node;node::Start(int, char**)@[node];[unknown]", "nodejs"],
  ["node;Builtin:JSEntry@[jit]", "nodejs"],
  ["java;JavaCalls::call_helper(JavaValue*)@[libjvm.so];[unknown]", "java"],
  ["java;Interpreter@[jit]", "java"],
  ["dotnet;libcoreclr.so+0x12@[libcoreclr.so];[unknown]", "dotnet"],
  ["beam.smp;beam.smp+0x12@[beam.smp];[unknown]", "erlang"],
  ["python3;[unknown]", "python"], // by the name of the process
  ["shop;main@[shop.so];[unknown]", "jit"],
  ["shop;shop+0x1060@[shop:00112233];deflate@[libz.so.1]", "native"],
  ["shop;0x55d0c0de@[shop]", "native"],
  // the innermost one says what is to be done
  ["shop;[unknown];shop+0x1060@[shop:00112233]", "native"],
  ["shop;shop+0x1060@[shop:00112233];[unknown]", "jit"],
  ["shop;shop+0x1060", "native"], // a file that nothing else is known of
];

test("an interpreter's loop, code without symbols and code made meanwhile lack names", () => {
  for (const [stack, what] of unnamed) {
    const n = own([stack, 7]);
    assert.deepEqual([n.known, n.named, whatLacks(n)], [7, 0, [what]], stack);
  }
});

test("what is to be done is a line for each language, the largest first", () => {
  const n = own(
    ["shop;main@[shop]", 20],
    ["shop;shop+0x1@[libshop.so.1]", 8],
    ["shop;pricing+0x1@[pricing]", 12],
    ["python3;_PyEval_EvalFrameDefault@[python3.11]", 59.5],
    ["perl;perl+0x196480@[perl]", 0.5],
  );
  assert.equal(hasFewNames(n), true);
  const notes = namingNotes(n);
  assert.deepEqual(
    notes.map((x) => x.what),
    ["python", "native"], // half a per cent of Perl is not the reason
  );
  assert.match(notes[0].text, /^59\.5 % of the samples lack names of Python: .*py-spy/);
  assert.match(notes[1].text, /^20\.0 % .* native code \(pricing, libshop\.so\.1\): .*upload/);
  assert.deepEqual(
    notes.map((x) => x.docs),
    ["troubleshooting.md#frames-of-python", "symbols.md"],
  );
});

test("what is said of each language leads to a heading of the documents", () => {
  for (const docs of adviceDocs) {
    const [file, id] = docs.split("#");
    const page = `${process.env.PAGE_DIST}/docs/${file.replace(/md$/, "html")}`;
    const text = fs.readFileSync(page, "utf8");
    if (id) assert.ok(text.includes(` id="${id}"`), docs);
  }
  assert.ok(adviceDocs.length > 8);
});

test("nothing is to be done while nine of ten samples have names", () => {
  const with90 = own(["shop;main@[shop]", 90], ["perl;perl+0x1@[perl]", 10]);
  assert.deepEqual([hasFewNames(with90), namingNotes(with90)], [false, []]);
  const with89 = own(["shop;main@[shop]", 89], ["perl;perl+0x1@[perl]", 11]);
  assert.equal(hasFewNames(with89), true);
  assert.equal(hasFewNames(own()), false);
});

test("code without names at the end of many stacks is told, although the program has names", () => {
  const inner = "shop;main@[shop];libdb.so+0x10@[libdb.so];";
  const kernel = "page_fault@[kernel.kallsyms]";
  const n = own(
    [`${inner}libdb.so+0x20@[libdb.so]`, 20],
    [`${inner}${kernel}`, 6], // in its own time, as the kernel works for it
    [`${inner}memcpy@[libc.so.6]`, 30],
    [`shop;main@[shop];${kernel}`, 44],
  );
  assert.deepEqual([n.named, n.endings.value, n.endings.binaries], [100, 26, ["libdb.so"]]);
  assert.equal(endsNameless(n), true);
  const notes = namingNotes(n);
  assert.match(notes[0].text, /^26(\.0*)? % of the samples end in code without names/);
  assert.match(notes[0].text, /names \(libdb\.so\): install its debug symbols/);
  assert.equal(notes.length, 1);
  const figures = { samples: 100, truncated: 0, lost: 0 };
  assert.equal(qualityLevel(figures, n), "fair");
  const fewer = own([`${inner}libdb.so+0x20@[libdb.so]`, 25], ["shop;main@[shop]", 75]);
  assert.deepEqual([endsNameless(fewer), namingNotes(fewer)], [false, []]);
  assert.equal(qualityLevel(figures, fewer), "good");
  // nothing of a JVM's own code, nor what is made while it runs
  assert.equal(own(["java;run@shop/A;libjvm.so+0x1@[libjvm.so]", 9]).endings.value, 0);
});

test("each side of a comparison has its own share of names", () => {
  const both = namingOf(
    columnsOf([
      ["shop;main@[shop]", 10, 90],
      ["perl;perl+0x1@[perl]", 30, 0],
    ]),
  )!;
  assert.deepEqual([both.own.named, both.own.known], [10, 40]);
  assert.deepEqual([both.base?.named, both.base?.known], [90, 90]);
});

test("what a cut answer left out counts where its caller has a name, and else not at all", () => {
  const { own: n } = namingOf(
    columnsOf(
      [
        ["shop;main@[shop];work@[shop]", 30],
        ["shop;read@[libc.so.6];work@[shop]", 50],
        ["perl;perl+0x1@[perl]", 20],
      ],
      2,
    ),
  )!;
  assert.deepEqual([n.known, n.named], [50, 30]);
});

test("columns that are no tree have no names to count", () => {
  assert.equal(namingOf({ names: [], files: [], nodes: {} } as unknown as TreeColumns), null);
});

test("both forms of the columns say the same", () => {
  const plain = columnsOf(unnamed.map(([stack]): Stack => [stack, 1]));
  const { name, file, ...rest } = plain.nodes;
  const numbered = {
    ...plain,
    pairs: { name: Int32Array.from(name!), file: Int32Array.from(file!) },
    nodes: { ...rest, depth: [...rest.depth as number[]], function: Int32Array.from(name!.keys()) },
  };
  assert.deepEqual(namingOf(numbered), namingOf(plain));
});
