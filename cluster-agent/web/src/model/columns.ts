// Answers whose long columns of numbers come as bytes (docs/api.md, "format=columns"): 16 bytes of
// head, JSON, and behind it the columns, which are used where they lie. In the JSON, an object
// { at, type, n } stands for each.

const MAGIC = "columns1";
const HEAD = 16; // the magic, the number of bytes of the JSON, and four bytes of zero
const ALIGNED = 8; // the JSON ends, and each column begins, at a multiple of it

export const COLUMNS_TYPE = "application/vnd.coroot.columns";

export type NumberColumn = number[] | Int32Array | Float64Array;

interface Place {
  at: number; // bytes behind the JSON
  type: "i32" | "f64";
  n: number;
}

const isPlace = (v: unknown): v is Place =>
  typeof v === "object" && v !== null && "at" in v && "type" in v && "n" in v;

/**
 * The answer as its JSON form has it, with typed arrays as columns of nodes. Throws if it is
 * damaged.
 */
export function readColumns(bytes: ArrayBuffer): unknown {
  const head = new DataView(bytes, 0, HEAD);
  const text = new TextDecoder();
  if (text.decode(new Uint8Array(bytes, 0, MAGIC.length)) !== MAGIC) throw new Error("no columns");
  const length = head.getUint32(MAGIC.length, true);
  const body: unknown = JSON.parse(text.decode(new Uint8Array(bytes, HEAD, length)));
  const begin = Math.ceil((HEAD + length) / ALIGNED) * ALIGNED;
  const column = ({ at, type, n }: Place): NumberColumn =>
    type === "i32" ? new Int32Array(bytes, begin + at, n) : new Float64Array(bytes, begin + at, n);
  for (const [name, part] of Object.entries(body as Record<string, unknown>)) {
    if (typeof part !== "object" || part === null || Array.isArray(part)) continue;
    const members = part as Record<string, unknown>;
    for (const [key, v] of Object.entries(members))
      // tables sort and map theirs
      if (isPlace(v)) members[key] = name === "functions" ? Array.from(column(v)) : column(v);
  }
  return body;
}
