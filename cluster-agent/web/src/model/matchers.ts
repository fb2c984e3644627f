// Conditions on labels as Prometheus writes them, in the syntax that the server reads
// (query/label_matchers.h): pod="a", host.name!="b", version=~"1\..*".

export type MatchOp = "=" | "!=" | "=~" | "!~";

export interface Matcher {
  name: string;
  op: MatchOp;
  value: string;
}

const MAX_MATCHERS = 16;
const MAX_BYTES = 4096;

const escapes: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

/** Reads a text in quotes that begins at `at`; returns it and where it ends. */
function quoted(text: string, at: number): [string, number] {
  const quote = text[at];
  let out = "";
  for (let i = at + 1; i < text.length; i++) {
    let c = text[i];
    if (c === quote) return [out, i + 1];
    if (c === "\\" && quote !== "`") {
      const next = text[i + 1];
      // a backslash before any other character stands for itself: "1\." is the expression 1\.
      if (next === quote || next === "\\" || next in escapes) {
        c = escapes[next] ?? next;
        i++;
      }
    }
    out += c;
  }
  throw new Error("a closing quote is missing");
}

function parse(text: string): Matcher[] {
  const found: Matcher[] = [];
  let rest = text.trim();
  if (/^\{.*\}$/s.test(rest)) rest = rest.slice(1, -1).trim();
  let at = 0;
  const space = (): void => void (at += /^\s*/.exec(rest.slice(at))![0].length);
  while (at < rest.length) {
    let name = /^[A-Za-z0-9_.:/-]+/.exec(rest.slice(at))?.[0] ?? "";
    if (name) at += name.length;
    else if (/["'`]/.test(rest[at])) [name, at] = quoted(rest, at);
    if (!name) throw new Error(`expected a label at “${rest.slice(at, at + 20)}”`);
    space();
    const op = /^(=~|!~|!=|=)/.exec(rest.slice(at))?.[0] as MatchOp | undefined;
    if (!op) throw new Error(`expected =, !=, =~ or !~ after ${name}`);
    at += op.length;
    space();
    if (!/["'`]/.test(rest[at] ?? "")) throw new Error(`the value of ${name} needs quotes`);
    let value = "";
    [value, at] = quoted(rest, at);
    found.push({ name, op, value });
    space();
    if (rest[at] === ",") at++;
    else if (at < rest.length) throw new Error(`expected a comma after ${name}`);
    space();
  }
  if (found.length > MAX_MATCHERS) throw new Error(`more than ${MAX_MATCHERS} conditions`);
  if (new TextEncoder().encode(text).length > MAX_BYTES) throw new Error("too long");
  return found;
}

/** The conditions, and why there are none. Only the server can check regular expressions. */
export function parseMatchers(text: string): { matchers: Matcher[]; error: string } {
  try {
    return { matchers: parse(text), error: "" };
  } catch (e) {
    return { matchers: [], error: (e as Error).message };
  }
}

const quote = (s: string): string => {
  const c: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return `"${s.replace(/[\\"\n\r\t]/g, (x) => c[x] ?? `\\${x}`)}"`;
};

export function printMatcher(m: Matcher): string {
  const name = /^[A-Za-z0-9_.:/-]+$/.test(m.name) ? m.name : quote(m.name);
  return `${name}${m.op}${quote(m.value)}`;
}

export const printMatchers = (list: Matcher[]): string => list.map(printMatcher).join(",");

const same = (a: Matcher, b: Matcher): boolean =>
  a.name === b.name && a.op === b.op && a.value === b.value;

/** Adds a condition; "=" replaces what was required of the label, others are added. */
export function withMatcher(where: string, m: Matcher): string {
  const { matchers } = parseMatchers(where);
  const rest = matchers.filter((x) => !same(x, m) && !(m.op === "=" && x.name === m.name));
  return printMatchers([...rest, m]);
}

export const withoutMatcher = (where: string, m: Matcher): string =>
  printMatchers(parseMatchers(where).matchers.filter((x) => !same(x, m)));

/** Without any condition on this label: what its other values are is asked of this. */
export const withoutLabel = (where: string, name: string): string =>
  printMatchers(parseMatchers(where).matchers.filter((x) => x.name !== name));

/** The conditions of `where` that `other` does not have. */
export function onlyIn(where: string, other: string): Matcher[] {
  const b = parseMatchers(other).matchers;
  return parseMatchers(where).matchers.filter((x) => !b.some((y) => same(x, y)));
}
