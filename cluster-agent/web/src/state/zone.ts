// Whether times are the browser's or UTC: a choice of this browser, like the theme. The address may
// say otherwise, so that others see the same times.

import { ownZone, UTC } from "../model/time_zone";
import { store, stored } from "./stored";

const KEY = "zone";

/** The zone to show; `address`: that of the address. */
export const zoneToShow = (address = ""): string =>
  address || (stored("localStorage", KEY) === UTC ? UTC : ownZone());

export const preferZone = (zone: string): void =>
  store("localStorage", KEY, zone === UTC ? UTC : "local");
