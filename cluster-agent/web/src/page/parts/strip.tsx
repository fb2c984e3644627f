// A line above the page that says what is wrong, or what else to know, with a button at its end.

import type { ComponentChildren } from "preact";

interface Props {
  look?: "" | "warn" | "error";
  testId?: string;
  title?: string;
  text?: ComponentChildren; // cut off at the end of the line
  act?: string; // what the button does
  onAct?: () => void;
  children?: ComponentChildren; // text of any length, or buttons
}

export const Strip = ({ look, testId, title, text, act, onAct, children }: Props) => (
  <div
    class={look ? `strip ${look}-strip` : "strip"}
    role={look === "error" ? "alert" : "status"}
    title={text ? undefined : title}
    data-testid={testId}
  >
    {text && (
      <span class="one-line" title={title}>
        {text}
      </span>
    )}
    {children}
    {act && (
      <button type="button" class="button small" onClick={onAct}>
        {act}
      </button>
    )}
  </div>
);
