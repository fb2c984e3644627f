// What the API computes from stacks with a value and a base value: columns of a tree, functions,
// lines, matches and exports. Written apart from the page's own code, so that tests compare two
// independent results.

const keyOf = (f) => `${f.name}\n${f.file}`;

class Texts {
  constructor(first) {
    this.list = [...first];
    this.ids = new Map(this.list.map((t, i) => [t, i]));
  }
  id(text) {
    let i = this.ids.get(text);
    if (i === undefined) this.ids.set(text, (i = this.list.push(text) - 1));
    return i;
  }
}

function newNode(name, file) {
  const figures = { total: 0, self: 0, base: 0, baseSelf: 0 };
  return { name, file, ...figures, inlined: true, children: new Map() };
}

function merge(stacks) {
  const root = newNode("total", "");
  for (const { frames, value, base } of stacks) {
    let at = root;
    at.total += value;
    at.base += base;
    for (const f of frames) {
      const key = keyOf(f);
      let next = at.children.get(key);
      if (!next) at.children.set(key, (next = newNode(f.name, f.file)));
      next.total += value;
      next.base += base;
      next.inlined = next.inlined && f.inlined;
      at = next;
    }
    at.self += value;
    at.baseSelf += base;
  }
  return root;
}

function hash(text, seed) {
  let h = seed;
  for (const byte of Buffer.from(text)) h = Math.imul(h ^ byte, 0x01000193);
  return h >>> 0;
}

function step(parent, item, prime) {
  let h = Math.imul(parent ^ item, prime);
  h ^= h >>> 15;
  return Math.imul(h, 0x85ebca6b) >>> 0;
}

// as model/file_key.ts, for the files of these stacks
const FOLDER_AND_NAME = /^(?:.*\/)?(@?[^/@]*?)[0-9._-]*(?:@[^/]*)?(\/[^/]*)$/;
const fileKey = (file) => file.replace(FOLDER_AND_NAME, "$1$2");

/** The node with this path key and its ancestors, root first; null if there is none. */
function pathTo(root, key) {
  const find = (n, high, low, path) => {
    const word = (v) => v.toString(16).padStart(8, "0");
    if (n !== root && word(high) + word(low) === key) return path;
    for (const c of n.children.values()) {
      const h = step(high, hash(c.name, 0x811c9dc5), 0x01000193);
      const l = step(low, hash(c.name, 0x1234567) ^ hash(fileKey(c.file), 0x9e3779b9), 0xc2b2ae35);
      const found = find(c, h, l, [...path, c]);
      if (found) return found;
    }
    return null;
  };
  const start = (seed, nameSeed, fileHash, prime) =>
    step(seed, hash("total", nameSeed) ^ fileHash, prime);
  return find(
    root,
    start(17, 0x811c9dc5, 0, 0x01000193),
    start(29, 0x1234567, hash("", 0x9e3779b9), 0xc2b2ae35),
    [root],
  );
}

/** The nodes to send: those with the largest totals. */
function keepLargest(root, maxNodes) {
  const all = [];
  const walk = (n) => {
    all.push(n);
    for (const c of n.children.values()) walk(c);
  };
  walk(root);
  if (all.length <= maxNodes) return null;
  // a stable sort keeps a parent before its children
  all.sort((a, b) => b.total + b.base - (a.total + a.base));
  return new Set(all.slice(0, maxNodes));
}

const countNodes = (n) => [...n.children.values()].reduce((s, c) => s + countNodes(c), 1);

function functionColumns(list, names, files, two) {
  const column = (name) => list.map((f) => f[name]);
  return {
    name: list.map((f) => names.id(f.name)),
    file: list.map((f) => files.id(f.file)),
    self: column("self"),
    total: column("total"),
    ...(two && { baseSelf: column("baseSelf"), baseTotal: column("baseTotal") }),
  };
}

/** Stacks → the columns of a tree and of `functions`; with `two`, those of the base as well. */
export function treeOf(stacks, options = {}) {
  const { maxNodes = Infinity, zoom = "", two = false, functions = [] } = options;
  const root = merge(stacks);
  const path = zoom ? pathTo(root, zoom) : null;
  path?.slice(0, -1).forEach((n, i) => (n.children = new Map([[0, path[i + 1]]])));
  const kept = keepLargest(root, maxNodes);
  const names = new Texts(["total"]);
  const files = new Texts(["", "[kernel]"]);
  const nodes = { name: [], file: [], depth: [], total: [], self: [], inlined: [] };
  if (two) Object.assign(nodes, { baseTotal: [], baseSelf: [] });
  const other = { nodes: 0, value: 0 };
  const emit = (n, depth) => {
    if (n.inlined && depth > 0) nodes.inlined.push(nodes.name.length);
    nodes.name.push(names.id(n.name));
    nodes.file.push(files.id(n.file));
    nodes.depth.push(depth);
    nodes.total.push(n.total);
    nodes.self.push(n.self);
    nodes.baseTotal?.push(n.base);
    nodes.baseSelf?.push(n.baseSelf);
  };
  const walk = (n, depth) => {
    emit(n, depth);
    const cut = newNode("other", "");
    cut.inlined = false;
    const shown = [];
    for (const c of n.children.values()) {
      if (!kept || kept.has(c)) {
        shown.push(c);
        continue;
      }
      other.nodes += countNodes(c);
      other.value += c.total;
      cut.total += c.total;
      cut.self += c.total;
      cut.base += c.base;
      cut.baseSelf += c.base;
    }
    if (cut.total + cut.base > 0) shown.push(cut);
    const text = (c) => `${c.name}\n${c.file}`;
    shown.sort((a, b) => (text(a) < text(b) ? -1 : 1));
    for (const c of shown) walk(c, depth + 1);
  };
  walk(root, 0);
  const columns = functionColumns(functions, names, files, two);
  return { names: names.list, files: files.list, nodes, other, functions: columns };
}

/** All functions, the largest own values first. A stack counts once in a total. */
export function functionsOf(stacks) {
  const all = new Map();
  for (const { frames, value, base } of stacks) {
    const seen = new Set();
    frames.forEach((frame, i) => {
      const key = keyOf(frame);
      let f = all.get(key);
      if (!f) {
        const { name, file } = frame;
        all.set(key, (f = { name, file, self: 0, total: 0, baseSelf: 0, baseTotal: 0 }));
      }
      if (i === frames.length - 1) {
        f.self += value;
        f.baseSelf += base;
      }
      if (seen.has(key)) return;
      seen.add(key);
      f.total += value;
      f.baseTotal += base;
    });
  }
  return [...all.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

/**
 * One function with its lines, callers and callees. Both trees begin at the outermost call, so
 * that a recursion counts once.
 */
export function functionOf(stacks, name, file, two) {
  const is = (f) => f.name === name && (file === undefined || f.file === file);
  const own = { self: 0, total: 0, baseSelf: 0, baseTotal: 0 };
  const lines = new Map();
  const callers = [];
  const callees = [];
  for (const { frames, value, base } of stacks) {
    const at = frames.findIndex(is);
    if (at < 0) continue;
    callers.push({ frames: frames.slice(0, at).reverse(), value, base });
    callees.push({ frames: frames.slice(at + 1), value, base });
    own.total += value;
    own.baseTotal += base;
    const leaf = frames[frames.length - 1];
    if (is(leaf)) {
      own.self += value;
      own.baseSelf += base;
    }
    const seen = new Set();
    for (const f of frames.filter(is)) {
      const key = `${f.line} ${f.inlined}`;
      const { line, inlined } = f;
      const l = lines.get(key) ?? { line, inlined, self: 0, total: 0, baseSelf: 0, baseTotal: 0 };
      lines.set(key, l);
      if (!seen.has(key)) {
        l.total += value;
        l.baseTotal += base;
      }
      seen.add(key);
      if (f === leaf) {
        l.self += value;
        l.baseSelf += base;
      }
    }
  }
  const columns = (list) => {
    const { functions: _, ...tree } = treeOf(list, { two });
    tree.names[0] = name;
    tree.files.push(file ?? "");
    tree.nodes.file[0] = tree.files.length - 1;
    return tree;
  };
  return {
    name,
    file: file ?? stacks.flatMap((s) => s.frames).find(is)?.file ?? "",
    ...own,
    lines: [...lines.values()].sort((a, b) => a.line - b.line || a.inlined - b.inlined),
    callers: columns(callers),
    callees: columns(callees),
  };
}

/** An error that the API reports with this status. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function regExp(text, flags) {
  try {
    return new RegExp(text, flags);
  } catch (e) {
    throw new Refusal(400, `not a regular expression: ${e.message.replace(/^.*: /, "")}`);
  }
}

/** The page's search syntax: text, "exact name" or /regular expression/. */
function searchTest(search) {
  const exact = /^"(.+)"$/.exec(search);
  if (exact) return (f) => f.name === exact[1];
  if (search.startsWith("/")) {
    const re = regExp(search.slice(1).replace(/\/$/, ""), "i");
    return (f) => re.test(f.name) || re.test(f.file);
  }
  const plain = search.toLowerCase();
  return (f) => f.name.toLowerCase().includes(plain) || f.file.toLowerCase().includes(plain);
}

export function matchesOf(stacks, search) {
  const test = searchTest(search);
  const found = { total: 0, baseTotal: 0, functions: 0, stacks: 0 };
  const functions = new Set();
  for (const { frames, value, base } of stacks) {
    const hits = frames.filter(test);
    for (const f of hits) functions.add(keyOf(f));
    if (hits.length === 0) continue;
    found.total += value;
    found.baseTotal += base;
    found.stacks++;
  }
  found.functions = functions.size;
  return found;
}

/** `where` → a test of a set of labels. A label that is missing is "". */
export function parseWhere(text) {
  const test = [];
  let rest = text.trim();
  while (rest !== "") {
    const m = /^([\w.]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(,|$)\s*/.exec(rest);
    if (!m) throw new Refusal(400, `where: expected name="value" at "${rest.slice(0, 20)}"`);
    const [all, name, op, raw] = m;
    const value = raw.replace(/\\(["\\])/g, "$1");
    const re = op.endsWith("~") ? regExp(`^(?:${value})$`, "") : null;
    test.push((labels) => {
      const own = labels[name] ?? "";
      return (re ? re.test(own) : own === value) !== op.startsWith("!");
    });
    rest = rest.slice(all.length);
  }
  return (labels) => test.every((t) => t(labels));
}

const foldedName = (f) => f.name.replace(/[;\n]/g, ":");

/** Brendan Gregg's form; with a base the two columns of difffolded.pl. */
export function foldedOf(stacks, two) {
  const lines = new Map();
  for (const { frames, value, base } of stacks) {
    const key = frames.map(foldedName).join(";");
    const l = lines.get(key) ?? [0, 0];
    lines.set(key, [l[0] + value, l[1] + base]);
  }
  return [...lines].map(([k, [v, b]]) => (two ? `${k} ${b} ${v}\n` : `${k} ${v}\n`)).join("");
}

export function speedscopeOf(stacks, name, unit) {
  const frames = new Map();
  const id = (f) => {
    const key = keyOf(f);
    const known = frames.get(key);
    if (known) return known.id;
    frames.set(key, { id: frames.size, frame: { name: f.name, ...(f.file && { file: f.file }) } });
    return frames.size - 1;
  };
  const shown = stacks.filter((s) => s.value > 0);
  const weights = shown.map((s) => s.value);
  const samples = shown.map((s) => s.frames.map(id));
  return {
    $schema: "https://www.speedscope.app/file-format-schema.json",
    shared: { frames: [...frames.values()].map((f) => f.frame) },
    profiles: [
      {
        type: "sampled",
        name,
        unit: unit === "count" ? "none" : unit,
        startValue: 0,
        endValue: weights.reduce((s, w) => s + w, 0),
        samples,
        weights,
      },
    ],
  };
}
