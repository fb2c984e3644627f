// Function names: the short form that fits into a frame, the package that colours it, and a form in
// which every character can be seen.

import { isNative, nativePath, shortNative } from "./native_names";

export const KERNEL = "[kernel]";

// "java.util.HashMap.put", "java/util/HashMap.put"; Go's "main.T.Method" has one word in front
const java = /^((?:[a-z_][\w$]*\.){2,}|(?:[a-z_][\w$]*\/)+)([A-Z$][\w$]*(?:\.[\w$<>]+)+)(\(.*\))?$/;
// classes that the JVM generates, which have no file
const generatedJava =
  /^((?:[a-z_][\w$]*\.)+)(?:\$Proxy|Generated\w*Accessor|LambdaForm\$\w+)\.[\w$<>]+$/;
// V8's code of a function: "JS:*name", "LazyCompile:~name"
const script = /^(?:JS|LazyCompile|Function|Script|Eval):[~*^+]?(?=.)/;

const LONG_ARGUMENTS = 40;

/** Arguments of Go's generic functions are kept unless they are longer than all the rest. */
function cutTypeArguments(text: string): string {
  const open = text.indexOf("[");
  const close = text.lastIndexOf("]");
  if (open < 1 || close - open <= LONG_ARGUMENTS) return text;
  return `${text.slice(0, open)}[…]${text.slice(close + 1)}`;
}

/** The name without its path: `cmd/compile/internal/ssa.Compile` → `ssa.Compile`. */
export function shortName(name: string): string {
  if (name.startsWith("[")) return name;
  if (isNative(name)) return shortNative(name) || name;
  const ofJava = java.exec(name);
  if (ofJava) return ofJava[2];
  if (script.test(name)) return name.replace(script, "");
  // Go: import paths in front and inside type arguments; "kworker/0:2" is the name of a process
  if (!/\/[^/]*\./.test(name)) return cutTypeArguments(name);
  const text = name.replace(/[\w.~%@-]*\//g, "");
  return text === "" ? name : cutTypeArguments(text);
}

// controls, soft hyphen, fillers, zero-width, line separators, bidi marks and overrides, variation
// selectors, byte order mark, tags, lone surrogates
const UNSEEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}\u115f\u1160\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;

/**
 * The text with an escape such as \u{202e} for each character that cannot be seen or that turns the
 * direction: a name must not pass for another one.
 */
export const visible = (text: string): string =>
  /^[ -~]*$/.test(text) // nearly all names; the other expression takes long to compile
    ? text
    : text.replace(UNSEEN, (c) => `\\u{${(c.codePointAt(0) as number).toString(16)}}`);

/** The name as a frame, a row or a button shows it. */
export const label = (name: string): string => visible(shortName(name));

/** At most `most` characters: the middle is left out, where names of one library differ least. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const chars = Array.from(text.length > 4 * most ? text.slice(0, 2 * most) : text);
  const tail = Array.from(text.slice(-most)).slice(-Math.floor(most * 0.4));
  return `${chars.slice(0, most - 1 - tail.length).join("")}…${tail.join("")}`;
}

/** The full name for a place of limited size. */
export const fullName = (name: string, most = 400): string => clip(visible(name), most);

const generated = /\.(isra|constprop|part|cold|lto_priv|llvm|localalias)(\.\d+)*(\.cold)?$/;

/** The package of a generated class, "" for all other names. */
const javaPackage = (name: string): string => generatedJava.exec(name)?.[1].slice(0, -1) ?? "";

/**
 * The file and the build of `[libc.so.6@<build id>]`, which code without a name has; the build is
 * "" of `[libc.so.6]`.
 */
export function splitModule(file: string): { module: string; build: string } {
  const m = /^\[(.+?)(?:[:@]([0-9a-f]{4,64}))?\]$/.exec(file);
  return { module: m?.[1] ?? file, build: m?.[2] ?? "" };
}

/** The library a frame belongs to: `[libc.so.6]` → `libc.so.6`, `src/a/b.c` → `src/a`. */
export function moduleOf(name: string, file: string): string {
  if (file.startsWith("[")) return splitModule(file).module;
  const slash = file.lastIndexOf("/");
  if (slash > 0) return file.slice(0, slash);
  return file || javaPackage(name).replaceAll(".", "/") || name;
}

// installed packages, eggs and wheels of one without their releases
const pythonPackage =
  /(?:site|dist)-packages\/(?:([^/]+?)-\d[^/]*\.egg\/|[^/]+\.whl\/)?([^/]+?)(?:\.pyx?)?(?:\/|$)/;
const pythonLibrary = /\/lib(?:32|64)?\/python[\d.]+t?d?(?:\.zip)?\/([^/]+?)(?:\.py)?(?:\/|$)/;

/** The package of a function of Python, by its file. */
function pythonModule(file: string): string {
  const installed = pythonPackage.exec(file);
  if (installed) return installed[1] ?? installed[2];
  return pythonLibrary.exec(file)?.[1] ?? moduleOf("", file);
}

/** The package of an interpreted function, by its file; "" for others. */
function scriptPackage(file: string): string {
  if (/\.(?:py|pyx)$/.test(file)) return pythonModule(file);
  // code of Python without a file: `<frozen importlib._bootstrap>`, whose blank is stored as `_`
  if (/^<.*>$/.test(file)) return /^<frozen[ _](\w+)/.exec(file)?.[1] ?? file;
  if (!/\.[cm]?[jt]sx?$/.test(file) && !file.startsWith("node:")) return "";
  const installed = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file);
  if (installed) return installed[1];
  return file.startsWith("node:") ? "node" : moduleOf("", file);
}

/** What a file says about the packages of its functions. */
export interface FilePackages {
  script: string; // of an interpreted function; "" for others
  javaClass: string; // `java/util/HashMap` → `java.util.HashMap`
  ofClass: string; // package of a function of that class
}

export function filePackages(file: string): FilePackages {
  const slash = file.lastIndexOf("/");
  const javaClass = slash > 0 ? file.replaceAll("/", ".") : "";
  return { script: scriptPackage(file), javaClass, ofClass: javaClass.slice(0, slash) };
}

/**
 * The package of a Go function by its import path, which has a host in front; "" for other names.
 * packageOf() says the same, but has to rule out all other languages first.
 */
function importPath(name: string): string {
  const host = name.indexOf(".");
  if (host <= 0 || name.indexOf("/") < host || name.includes("::") || name.includes("+0x"))
    return "";
  const args = name.search(/[[(<]/);
  const stem = args > 0 ? name.slice(0, args) : name;
  const dot = stem.indexOf(".", stem.lastIndexOf("/") + 1);
  return dot > host ? stem.slice(0, dot) : "";
}

/** The package a frame belongs to, "" if it is unknown. `known` is filePackages(file). */
export function packageOf(name: string, file: string, known?: FilePackages): string {
  if (file === KERNEL) return KERNEL;
  if (name.startsWith("[")) return "";
  if (file === "") {
    const javas = javaPackage(name);
    if (javas) return javas;
    // a process, whose name may have dots; all of kworker/… are one
    if (!/^(main|runtime)\.|\/.*\.\w|\)\.|::/.test(name)) return name.replace(/\/.*/, "");
  }
  const { script, javaClass, ofClass } = known ?? filePackages(file);
  if (script) return script;
  if (javaClass && name.startsWith(javaClass)) return ofClass;
  const imported = importPath(name);
  if (imported) return imported;
  if (isNative(name)) {
    const path = nativePath(name);
    const head = path.length > 1 ? path[0].replace(/<…>$/, "") : "";
    return /^[\w$]/.test(head) ? head : moduleOf(name, file);
  }
  const ofJava = java.exec(name);
  if (ofJava) return ofJava[1].slice(0, -1);
  const plain = name.replace(generated, "");
  const args = plain.search(/[[(<]/);
  const stem = args > 0 ? plain.slice(0, args) : plain;
  const dot = stem.indexOf(".", stem.lastIndexOf("/") + 1);
  if (dot > 0 && !plain.includes("+0x")) return stem.slice(0, dot);
  return moduleOf(name, file);
}

/** Splits a service for the header: `/process/burn` → ["process", "burn"]. */
export function splitService(service: string): { group: string; name: string } {
  const parts = service.split("/").filter((s) => s !== "");
  const name = parts.pop() ?? service;
  return { group: parts.join(" / "), name };
}
