// An application as lists show it.

import { splitService } from "../../model/names";

/** Always three decimals, so that the decimal points line up. */
export const coresColumn = (v: number): string => (v > 0 && v < 0.0005 ? "<0.001" : v.toFixed(3));

/** With its sign, and nothing where the columns show no change. */
export function changeColumn(v: number): string {
  const text = Math.abs(v).toFixed(3);
  return Number(text) === 0 ? "0" : `${v > 0 ? "+" : "−"}${text}`;
}

/** The name first: where there is no room for all of it, its folder is cut. */
export function ServiceName({ service }: { service: string }) {
  const { group, name } = splitService(service);
  return (
    <span class="service-name">
      {name}
      {group && <span class="dim service-group"> {group}</span>}
    </span>
  );
}
