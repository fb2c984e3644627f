// Demangled names of C++ and Rust, taken apart: "std::map<int, A<B>>::operator[](int const&)" is
// the path map<…> and operator[] in std. Brackets, spaces and operators cannot be told apart by
// patterns, because "operator<<" and "A<B<C>>" use the same signs; so the text is read once from
// left to right with a stack of what is open.

const CLOSER: Record<string, string> = { "<": ">", "(": ")", "[": "]", "{": "}" };

// longest first
const OPERATORS = [
  ...["<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&", "||"],
  ...[
    "++",
    "--",
    "+=",
    "-=",
    "*=",
    "/=",
    "%=",
    "^=",
    "&=",
    "|=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "&",
  ],
  ...["|", "~", "!", "=", "<", ">", ","],
];

const wordChar = (c: string | undefined): boolean => c !== undefined && /[\w$]/.test(c);

/** The text of the operator that begins at `from`, right behind the word "operator". */
function operatorAt(text: string, from: number): string {
  const rest = text.slice(from, from + 4);
  const sign = OPERATORS.find((o) => rest.startsWith(o));
  if (sign) return sign;
  if (rest.startsWith('""')) return /^""\s*[\w$]*/.exec(text.slice(from))?.[0] ?? "";
  const named = /^ (?:new|delete|co_await)(?:\[\])?(?=[\s(<]|$)/.exec(text.slice(from));
  if (named) return named[0];
  // a conversion: a type up to its parameters
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    if (text[i] === "<") depth++;
    else if (text[i] === ">") depth--;
    else if (text[i] === "(" && depth === 0) return text.slice(from, i);
  }
  return text.slice(from);
}

/** "operator std::map<int, int>" → "operator std::map<…>". */
const shortConversion = (text: string): string =>
  text.startsWith(" ") ? text.replace(/<.*>/, "<…>") : text;

/** Where the bracket that opens at `from` closes; the length of the text if it does not. */
function closing(text: string, from: number): number {
  const open: string[] = [];
  for (let i = from; i < text.length; i++) {
    const c = text[i];
    if (text.startsWith("operator", i) && !wordChar(text[i - 1]) && !wordChar(text[i + 8])) {
      i += 7 + operatorAt(text, i + 8).length;
      continue;
    }
    if (c === "-" && text[i + 1] === ">") i++;
    else if (CLOSER[c]) open.push(CLOSER[c]);
    else if (c === open.at(-1)) open.pop();
    else if (c === ")" || c === "]" || c === "}") {
      // "(3 > 2)": signs that looked like brackets
      const at = open.lastIndexOf(c);
      if (at >= 0) open.length = at;
    }
    if (open.length === 0) return i;
  }
  return text.length;
}

/** Rust's <Type as Trait>, <impl Trait for Type>, <Type>: the path of the type. */
function typePath(inside: string): string[] {
  let text = inside;
  const target = /^impl .* for (.*)$/.exec(text);
  if (target) text = target[1];
  const cut = (() => {
    for (let i = 0; i < text.length; i++) {
      if (CLOSER[text[i]]) i = closing(text, i);
      else if (text.startsWith(" as ", i)) return i;
    }
    return text.length;
  })();
  return nativePath(text.slice(0, cut).replace(/^(?:&|\*|mut |const |dyn |'\w+ )+/, ""));
}

// what follows the parameters without being a part of the name
const QUALIFIERS = /^(?: ?(?:const|volatile|noexcept|&&?))+(?=::|$| \[|\.)/;

/** The parts between "::", without parameters, with "<…>" for template arguments. */
export function nativePath(name: string): string[] {
  const path: string[] = [];
  let part = "";
  const end = (): void => {
    if (part !== "" && part !== "<…>") path.push(part);
    part = "";
  };
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (name.startsWith("operator", i) && !wordChar(name[i - 1]) && !wordChar(name[i + 8])) {
      const sign = operatorAt(name, i + 8);
      part += `operator${shortConversion(sign)}`;
      i += 7 + sign.length;
      if (name.startsWith(" <", i + 1)) i++; // template arguments of the operator
    } else if (c === ":" && name[i + 1] === ":") {
      end();
      i++;
    } else if (c === "<") {
      const to = closing(name, i);
      const inside = name.slice(i + 1, to);
      if (part === "" && path.length === 0 && name.startsWith("::", to + 1))
        path.push(...typePath(inside));
      else part += "<…>";
      i = to;
    } else if (c === "(") {
      const to = closing(name, i);
      if (part === "" && name.startsWith("::", to + 1)) part = name.slice(i, to + 1);
      i = to;
      const after = QUALIFIERS.exec(name.slice(to + 1, to + 40));
      if (after) i += after[0].length;
    } else if (c === "[") {
      i = closing(name, i); // [abi:cxx11], [clone .isra.0]
    } else if (c === "{") {
      const to = closing(name, i);
      part += name.slice(i, to + 1).replace(/\(.*\)/, "");
      i = to;
    } else if (c === " ") {
      if (/^ (?:\[clone|\.)/.test(name.slice(i, i + 8))) break;
      path.length = 0; // what came before is a return type
      part = "";
    } else part += c;
  }
  end();
  if (path.length > 1 && /^h[0-9a-f]{16}$/.test(path[path.length - 1])) path.pop();
  return path;
}

// parts that mean nothing without the one before them
const CLOSURE = /^(?:\{.*\}|'lambda.*'|\$_\d+)$/;

/** The last two parts, and closures beside them: "Core<…>::poll::{{closure}}". */
export function shortNative(name: string): string {
  const path = nativePath(name);
  let from = path.length;
  for (let named = 0; from > 0 && named < 2; from--) if (!CLOSURE.test(path[from - 1])) named++;
  return path.slice(from).join("::");
}

/** Whether a name is one of C++ or Rust; names of other languages are left alone. */
export const isNative = (name: string): boolean =>
  name.includes("::") ||
  /^operator\W/.test(name) ||
  (name.includes("(") &&
    /^[\w$~ *&]*[\w$](?:<.*>)?\(.*\)(?: const| volatile| &&?)*(?: \[clone [^\]]*\])*$/.test(name));
