// Which functions have source lines.

import { KERNEL, splitModule, visible } from "./names";
import type { FunctionId } from "./url_state";

/** Why a function cannot have lines, by where it is; "" if it may have some. */
export function whyNeverLines({ name, file }: FunctionId): string {
  if (file === KERNEL) return "Frames of the kernel have symbols only: the kernel has no lines.";
  if (file === "") return `The profile has no file for ${visible(name)}, so it has no source.`;
  if (file.startsWith("["))
    return (
      `No frame of this function has a line: ${visible(splitModule(file).module)} was built ` +
      "without line tables, in a language whose line tables the agent does not read, or the node " +
      "agent runs with --line-numbers=false."
    );
  return "";
}

/** The same for a menu. */
export function whyNeverLinesShort({ file }: FunctionId): string {
  if (file === KERNEL) return "the kernel has none";
  if (file === "") return "the profile has no file for it";
  return file.startsWith("[") ? "built without line tables" : "";
}
