// Copies the address of what is on show: with fixed times, also when the page is live.

import { useRef, useState } from "preact/hooks";
import { resolve, type Span } from "../../model/time_range";
import { printAddress, type UrlState } from "../../model/url_state";
import { copyText } from "../../state/clipboard";
import { zoneToShow } from "../../state/zone";

/** The address of the present view with absolute times, in the same zone. */
export function shareLink(state: UrlState, range: Span): string {
  const shown = { ...state, range, zone: zoneToShow(state.zone) };
  return location.origin + printAddress(shown, location.pathname);
}

// two rings of a chain
const RINGS =
  "M6 8.2a2.6 2.6 0 003.8.2l2-2a2.6 2.6 0 00-3.7-3.7L7.3 3.5" +
  "M8 5.8a2.6 2.6 0 00-3.8-.2l-2 2a2.6 2.6 0 003.7 3.7l.8-.8";

const SAID_MS = 3000;

/** `now`: when the range on show ends. */
export function CopyLink({ state, now }: { state: UrlState; now: number }) {
  const [said, setSaid] = useState("");
  const timer = useRef(0);
  const copy = async (): Promise<void> => {
    const done = await copyText(shareLink(state, resolve(state.range, now)));
    setSaid(done ? "Link copied, with these times" : "This browser does not allow it");
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <span class="copy-link">
      <button
        type="button"
        class="button square"
        aria-label="Copy link"
        title="Copy link: this view with these times, also when live"
        data-testid="header-link"
        onClick={() => void copy()}
      >
        <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
          <path
            d={RINGS}
            fill="none"
            stroke="currentColor"
            stroke-width="1.4"
            stroke-linecap="round"
          />
        </svg>
      </button>
      <span class={said ? "copied" : "sr"} role="status" data-testid="link-said">
        {said}
      </span>
    </span>
  );
}
