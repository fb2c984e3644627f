// Whether the page refreshes itself.

import { followsLive } from "../../model/comparison";
import type { UrlState } from "../../model/url_state";

/** Why the page does not refresh itself; "" while it does. */
export function pauseReason(s: UrlState, hidden: boolean, pointing: boolean): string {
  if (hidden) return "while the page is hidden";
  if (!followsLive(s)) return "while a fixed range is compared";
  if (s.selection) return "while a part of the range is selected";
  if (s.zoom) return "while zoomed";
  if (pointing) return "while the mouse is on a frame";
  return "";
}
