// Whether the cluster-agent answers, and how many of its answers the page waits for.

import { useEffect, useState } from "preact/hooks";
import { Cell } from "./cell";

/** Since when nothing answers (ms since the epoch); null while something does. */
export const outage = new Cell<number | null>(null);

/** Requests under way that a refresh would send again. */
export const pending = new Cell(0);

/** Requests that were refused; repeating them would give the same answer. */
export const refusals = new Cell(0);

/** Statuses after which a later attempt may succeed: with other options, or under less load. */
const TEMPORARY = [404, 408, 429];

/** Whether a status of HTTP says that the request is wrong, which waiting does not change. */
export const isRefusal = (status: number): boolean =>
  status >= 400 && status < 500 && !TEMPORARY.includes(status);

/** Statuses of a gateway whose upstream server does not answer. */
const GATEWAY = [502, 504];

/** Whether a status of HTTP means that the cluster-agent did not answer; 0: nobody did. */
export const isAway = (status: number): boolean => status === 0 || GATEWAY.includes(status);

/** Notes the status of an answer. */
export function noteAnswer(status: number): void {
  outage.set(isAway(status) ? (outage.value ?? Date.now()) : null);
}

export const RETRY_MS = [2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

/** Calls `retry` while nothing answers, less and less often. */
export function useRetry(retry: () => void, running: boolean): void {
  const [turn, setTurn] = useState(0);
  const [since, setSince] = useState(outage.value);
  useEffect(() => outage.watch(setSince), []);
  useEffect(() => {
    if (since === null) return setTurn(0);
    if (!running) return;
    const timer = setTimeout(
      () => {
        if (pending.value === 0) retry();
        setTurn(turn + 1);
      },
      RETRY_MS[Math.min(turn, RETRY_MS.length - 1)],
    );
    return () => clearTimeout(timer);
  }, [since, turn, running]);
}

/** Whether `waiting` has been true for `ms` without a break. */
export function useLasting(waiting: boolean, ms: number): boolean {
  const [lasting, set] = useState(false);
  useEffect(() => {
    if (!waiting) return set(false);
    const timer = setTimeout(() => set(true), ms);
    return () => clearTimeout(timer);
  }, [waiting, ms]);
  return waiting && lasting;
}
