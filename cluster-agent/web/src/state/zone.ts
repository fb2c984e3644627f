// Whether times are the browser's or UTC: a choice of this browser, like the theme. The address may
// say otherwise, so that others see the same times.

import { ownZone, UTC } from "../model/time_zone";

const KEY = "zone";

function prefersUtc(): boolean {
  try {
    return localStorage.getItem(KEY) === UTC;
  } catch {
    return false; // storage may be forbidden
  }
}

/** The zone to show; `address`: that of the address. */
export const zoneToShow = (address = ""): string => address || (prefersUtc() ? UTC : ownZone());

export function preferZone(zone: string): void {
  try {
    localStorage.setItem(KEY, zone === UTC ? UTC : "local");
  } catch {
    // the choice lasts until the page is left
  }
}
