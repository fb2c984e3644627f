// Whether the details of the selected function are on show. Below the graph, this browser remembers
// it; as a sheet, where there is no room for them, they are opened each time.

import { Cell } from "./cell";
import { useCell, useMedia } from "./hooks";
import { store, stored } from "./stored";

const KEY = "details";
const CLOSED = "closed";
const ROOM = "(min-width: 720px) and (min-height: 561px)"; // as in details.css

const docked = new Cell(stored("localStorage", KEY) !== CLOSED);
const sheet = new Cell(false);

const hasRoom = (): boolean => matchMedia(ROOM).matches;

export const detailsOpen = (): boolean => (hasRoom() ? docked : sheet).value;

export function openDetails(open: boolean): void {
  if (hasRoom()) store("localStorage", KEY, open ? "" : CLOSED);
  (hasRoom() ? docked : sheet).set(open);
}

export function useDetails(): { open: boolean; asSheet: boolean } {
  const room = useMedia(ROOM);
  const [below, over] = [useCell(docked), useCell(sheet)];
  return { open: room ? below : over, asSheet: !room };
}
