// A field that narrows a list.

interface Props {
  what: string; // "Filter applications"
  label?: string; // for screen readers, if it is another text
  testId: string;
  value: string;
  set: (text: string) => void;
  slash?: boolean; // the key "/" leads to it
  autofocus?: boolean;
  onEnter?: () => void;
}

export const FilterField = (p: Props) => (
  <input
    type="search"
    class="filter"
    placeholder={p.what}
    aria-label={p.label ?? p.what}
    autofocus={p.autofocus}
    data-testid={p.testId}
    data-slash={p.slash}
    value={p.value}
    onInput={(e) => p.set(e.currentTarget.value)}
    onKeyDown={(e) => e.key === "Enter" && p.onEnter?.()}
  />
);
