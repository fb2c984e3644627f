// A profile that the page has itself, as a file for other programs.

import { harmless } from "../model/plain_text";
import { KERNEL } from "../model/names";
import type { Side } from "./file_graph";
import { rangeComment } from "./pprof";

/** Lines of "root;caller;leaf 42". */
export function foldedText({ file, type }: Side): string {
  const { table } = file;
  const names = table.name.map(
    (name, f) => harmless(name).replaceAll(";", " ") + (table.file[f] === KERNEL ? "_[k]" : ""),
  );
  const lines = new Map<string, number>();
  type.stacks.forEach((stack, i) => {
    const line = Array.from(table.framesOf(stack), (f) => names[f]).join(";");
    lines.set(line, (lines.get(line) ?? 0) + type.values[i]);
  });
  return [...lines].map(([line, v]) => `${line} ${v}\n`).join("");
}

const units = ["nanoseconds", "bytes"];

export function speedscopeText({ file, type }: Side): string {
  const { table } = file;
  const sum = type.values.reduce((s, v) => s + v, 0);
  return JSON.stringify({
    $schema: "https://www.speedscope.app/file-format-schema.json",
    name: file.name,
    shared: {
      frames: table.name.map((name, f) => ({
        name,
        ...(table.file[f] && { file: table.file[f] }),
        ...(table.line[f] > 0 && { line: table.line[f] }),
      })),
    },
    profiles: [
      {
        type: "sampled",
        name: type.title,
        unit: units.includes(type.unit) ? type.unit : "none",
        startValue: 0,
        endValue: sum,
        samples: type.stacks.map((s) => Array.from(table.framesOf(s))),
        weights: type.values,
      },
    ],
  });
}

class ProtoWriter {
  private bytes: number[] = [];

  varint(v: number): this {
    for (; v >= 128; v = Math.floor(v / 128)) this.bytes.push((v % 128) + 128);
    this.bytes.push(v);
    return this;
  }

  number(field: number, v: number): this {
    return v > 0 ? this.varint(field * 8).varint(v) : this;
  }

  message(field: number, body: ProtoWriter | Uint8Array): this {
    const bytes = body instanceof ProtoWriter ? body.bytes : body;
    this.varint(field * 8 + 2).varint(bytes.length);
    for (const b of bytes) this.bytes.push(b);
    return this;
  }

  packed(field: number, values: Iterable<number>): this {
    const body = new ProtoWriter();
    for (const v of values) body.varint(v);
    return this.message(field, body);
  }

  get done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.bytes);
  }
}

/** A pprof of one type; each frame is a function and a location of its own. */
export function pprofParts({ file, type }: Side): Uint8Array<ArrayBuffer>[] {
  const { table } = file;
  const utf8 = new TextEncoder();
  const texts = new Map([["", 0]]);
  const text = (s: string): number => {
    const at = texts.get(s) ?? texts.size;
    texts.set(s, at);
    return at;
  };
  const out: Uint8Array<ArrayBuffer>[] = [];
  const put = (fill: (w: ProtoWriter) => void): void => {
    const w = new ProtoWriter();
    fill(w);
    out.push(w.done);
  };
  const valueType = new ProtoWriter().number(1, text(type.title)).number(2, text(type.unit));
  put((w) => w.message(1, valueType));
  type.stacks.forEach((stack, i) => {
    const leafFirst = Array.from(table.framesOf(stack), (f) => f + 1).reverse();
    const sample = new ProtoWriter().packed(1, leafFirst).packed(2, [Math.round(type.values[i])]);
    put((w) => w.message(2, sample));
  });
  table.name.forEach((name, f) => {
    const line = new ProtoWriter().number(1, f + 1).number(2, table.line[f]);
    put((w) => w.message(4, new ProtoWriter().number(1, f + 1).message(4, line)));
    const fn = new ProtoWriter().number(1, f + 1).number(2, text(name));
    put((w) => w.message(5, fn.number(4, text(table.file[f]))));
  });
  const comment = file.from < file.to ? text(rangeComment(file)) : 0;
  for (const s of texts.keys()) put((w) => w.message(6, utf8.encode(s)));
  put((w) => w.number(13, comment));
  const duration = Math.round(file.covered * 1e6);
  put((w) => w.number(9, Math.round(file.from * 1e6)).number(10, duration));
  return out;
}
