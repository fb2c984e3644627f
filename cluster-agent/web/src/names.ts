// Function names: the short form that fits into a frame, and the package that colours it.

export const KERNEL = "[kernel]";

/**
 * Text inside < > or ( ) at the outermost level becomes `…`, so that only the path of the name is
 * left.
 */
function collapse(name: string, open: string, close: string, mark: string): string {
  let out = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === close && name[i - 1] === "-") {
      if (depth === 0) out += c; // "->" is no bracket
      continue;
    }
    if (c === open) {
      if (depth++ === 0) out += mark;
    } else if (c === close) {
      if (depth > 0) depth--;
      else out += c;
    } else if (depth === 0) out += c;
  }
  return out;
}

function shortNative(name: string): string {
  let text = name;
  const as = /^<(.+?)(?: as .+)?>::/.exec(text); // Rust: <Type as Trait>::method
  if (as) text = `${as[1]}::${text.slice(as[0].length)}`;
  if (/operator[^\w]/.test(text)) {
    const at = text.indexOf("operator");
    const scope = text
      .slice(0, at)
      .split("::")
      .filter((s) => s !== "");
    return [...scope.slice(-1), text.slice(at).replace(/\(.*\)( const)?$/, "")].join("::");
  }
  text = collapse(text, "(", ")", "");
  text = collapse(text, "<", ">", "<…>");
  text = text.replace(/::h[0-9a-f]{16}$/, "").replace(/ (const|\[clone .*\])$/, "");
  const parts = text.split("::").filter((s) => s !== "" && s !== "<…>");
  const last = parts.slice(-2).join("::");
  return last.slice(last.lastIndexOf(" ") + 1) || name; // a return type in front
}

/** The name without its path: `cmd/compile/internal/ssa.Compile` → `ssa.Compile`. */
export function shortName(name: string): string {
  if (name.includes("::")) return shortNative(name);
  // Go: import paths in front and inside type arguments; "kworker/0:2" is the name of a process
  if (name.startsWith("[") || !/\/[^/]*\./.test(name)) return name;
  const text = name.replace(/[\w.~%@-]*\//g, "");
  return text === "" ? name : text;
}

const generated = /\.(isra|constprop|part|cold|lto_priv|llvm|localalias)(\.\d+)*(\.cold)?$/;

/** The library a frame belongs to: `[libc.so.6]` → `libc.so.6`, `src/a/b.c` → `src/a`. */
export function moduleOf(name: string, file: string): string {
  if (file.startsWith("[")) return file.slice(1, -1);
  const slash = file.lastIndexOf("/");
  if (slash > 0) return file.slice(0, slash);
  return file || name;
}

/** The package a frame belongs to, "" if it is unknown. */
export function packageOf(name: string, file: string): string {
  if (file === KERNEL) return KERNEL;
  if (name.startsWith("[")) return "";
  if (file === "") return name.replace(/\/.*/, ""); // a process; all of kworker/… are one
  if (name.includes("::")) {
    const bare = name.replace(/^[<&]+(mut )?/, "");
    const head = bare.slice(0, bare.indexOf("::"));
    return head.slice(head.lastIndexOf(" ") + 1) || moduleOf(name, file);
  }
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
