// Opens a profile that somebody has as a file. Everything happens in the page: nothing of the file
// is sent anywhere.

import { grouped } from "../model/units";
import { readFolded } from "./folded";
import { readJfr } from "./jfr";
import { readPprof } from "./pprof";
import { readSpeedscope } from "./speedscope";
import { FileError, sumOf, UNKNOWN, type FileContent } from "./stacks";

export const MAX_FILE = 100 * 1024 * 1024;
export const MAX_INFLATED = 400 * 1024 * 1024; // of a gzipped file

export type FileFormat = "pprof" | "folded" | "speedscope" | "jfr";

/** What is needed of a File. */
export interface Source {
  name: string;
  size: number;
  lastModified: number;
  arrayBuffer(): Promise<ArrayBuffer>;
  stream(): ReadableStream<Uint8Array>;
}

export interface OpenedFile extends FileContent {
  name: string;
  format: FileFormat;
  source: Source; // as it was chosen
  notes: string[]; // what was left out
}

const mib = (bytes: number): string => `${grouped(bytes / 1024 / 1024)} MiB`;

/** Joins what a stream gives, up to a limit. */
async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (let got = await reader.read(); !got.done; got = await reader.read()) {
    parts.push(got.value);
    size += got.value.length;
    if (size > MAX_INFLATED) {
      void reader.cancel().catch(() => undefined);
      throw new FileError(`Unpacked, it is larger than ${mib(MAX_INFLATED)}.`);
    }
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function inflated(source: Source): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined")
    throw new FileError("This browser cannot unpack gzip: unpack the file first.");
  try {
    const gunzip = new DecompressionStream("gzip") as unknown as ReadableWritablePair<
      Uint8Array,
      Uint8Array
    >;
    return await collect(source.stream().pipeThrough(gunzip));
  } catch (e) {
    if (e instanceof FileError) throw e;
    throw new FileError("It is damaged: it cannot be unpacked.");
  }
}

const isGzip = (b: Uint8Array): boolean => b[0] === 0x1f && b[1] === 0x8b;
const startsWith = (b: Uint8Array, text: string): boolean =>
  [...text].every((c, i) => b[i] === c.charCodeAt(0));

/** Whether a message of protobuf whose fields are below 16 may begin with it. */
const beginsField = (byte: number): boolean => byte >= 8 && byte < 128 && [0, 2].includes(byte % 8);

/** By what the file begins with. */
function readContent(bytes: Uint8Array): [FileFormat, FileContent] {
  if (startsWith(bytes, "FLR\0")) return ["jfr", readJfr(bytes)];
  const first = bytes.find((b) => b > 0x20);
  if (first === 0x7b) {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return ["speedscope", readSpeedscope(json)];
  }
  // no text has a byte of zero; each pprof has one, as its first name is empty
  if (bytes.includes(0)) {
    if (!beginsField(bytes[0])) throw new FileError(UNKNOWN);
    return ["pprof", readPprof(bytes)];
  }
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  return ["folded", readFolded(text)];
}

/** Throws a FileError, whose message is one sentence about the file. */
export async function openFile(source: Source): Promise<OpenedFile> {
  const tooLarge = `It has ${mib(source.size)}: the page opens files up to ${mib(MAX_FILE)}.`;
  if (source.size > MAX_FILE) throw new FileError(tooLarge);
  if (source.size === 0) throw new FileError("It is empty.");
  const raw = new Uint8Array(await source.arrayBuffer());
  const bytes = isGzip(raw) ? await inflated(source) : raw;
  let read: [FileFormat, FileContent];
  try {
    read = readContent(bytes);
  } catch (e) {
    throw e instanceof FileError ? e : new FileError(UNKNOWN);
  }
  const [format, content] = read;
  const some = content.types.filter((t) => sumOf(t) > 0);
  if (some.length === 0) throw new FileError("It has no samples.");
  const notes = [...content.table.leftOut].map(([what, n]) => `${what}: ${grouped(n)}`);
  const main = Math.max(0, some.indexOf(content.types[content.main]));
  return { ...content, types: some, main, name: source.name, format, source, notes };
}
