// The JSON API of cluster-agent as the page uses it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ProfileType } from "./profile_types";
import { access } from "./session";
import type { TreeColumns } from "./tree";
import type { Span } from "./time_range";

export interface Application {
  service: string;
  types: string[];
  lastSeen: number;
  cores: number | null;
}

export interface Applications {
  applications: Application[];
  lastSeen: number | null;
}

export interface Timeline {
  startMs: number;
  stepMs: number;
  values: (number | null)[];
  unit: string;
  instances: { id: string; value: number }[];
}

export interface Quality {
  samples: number;
  truncated: number;
  lost: number;
  lostReasons: Record<string, number>;
}

export interface Functions {
  name: number[];
  file: number[];
  self: number[];
  total: number[];
}

export interface FlameGraph extends TreeColumns {
  service: string;
  type: string;
  unit: string;
  from: number;
  to: number;
  total: number;
  quality: Quality;
  other: { nodes: number; value: number };
  functions: Functions;
  stacks: number;
  stacksCut: number;
  valueCut: number;
}

export interface TypesAnswer {
  types: ProfileType[];
}

export interface Selection {
  service: string;
  type: string;
  instance: string;
}

function query(path: string, params: Record<string, string | number>): string {
  const p = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== "") p.set(name, String(value));
  return `${path}?${p}`;
}

const ms = (s: Span): { from: number; to: number } => ({
  from: Math.round(s.from),
  to: Math.round(s.to),
});

export const applicationsUrl = (s: Span): string => query("api/applications", ms(s));
export const timelineUrl = (w: Selection, s: Span, points: number): string =>
  query("api/timeline", { ...w, ...ms(s), points });
export const flamegraphUrl = (w: Selection, s: Span): string =>
  query("api/flamegraph", { ...w, ...ms(s) });
export const pprofUrl = (w: Selection, s: Span): string => query("api/pprof", { ...w, ...ms(s) });

/** Why there is no answer, in one line. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number, // of HTTP; 0 if there was no answer
  ) {
    super(message);
  }
}

/** One answer, or an ApiError. */
export async function fetchJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  let res: Response;
  try {
    res = await fetch(url, { signal, headers: { Accept: "application/json" } });
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new ApiError("The cluster-agent does not answer", 0);
  }
  const text = await res.text();
  if (res.status === 401) {
    access.set("locked");
    throw new ApiError("A key is needed", 401);
  }
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // what the server refuses before it looks at the path is one line of text
    const line = /^[^\n<]{1,250}\n?$/.test(text) ? text.trim() : `HTTP ${res.status}`;
    throw new ApiError(res.ok ? "The answer is no JSON" : line, res.status);
  }
  if (!res.ok) {
    const why = (body as { error?: unknown } | null)?.error;
    throw new ApiError(
      typeof why === "string" && why !== "" ? why : `HTTP ${res.status}`,
      res.status,
    );
  }
  return body as T;
}

export interface Loaded<T> {
  data: T | null; // of the newest answer; kept while the next one is under way
  error: string;
  status: number; // of HTTP, when error
  loading: boolean;
}

/**
 * Loads `url` whenever it or `attempt` changes. What was loaded stays visible while the next answer
 * is under way, unless `subject` (what the data is about) changed: then it would be wrong.
 */
export function useApi<T>(url: string | null, subject: string, attempt = 0): Loaded<T> {
  const [state, setState] = useState<{
    data: T | null;
    error: string;
    status: number;
    subject: string;
    done: string;
  }>({
    data: null,
    error: "",
    status: 0,
    subject: "",
    done: "",
  });
  const latest = useRef("");
  const want = url === null ? "" : `${attempt} ${url}`;
  useEffect(() => {
    latest.current = want;
    if (url === null) return;
    const abort = new AbortController();
    fetchJson<T>(url, abort.signal).then(
      (data) =>
        latest.current === want && setState({ data, error: "", status: 0, subject, done: want }),
      (e: Error) => {
        if (e.name === "AbortError" || latest.current !== want) return;
        setState((old) => ({
          data: old.subject === subject ? old.data : null,
          error: e.message,
          status: e instanceof ApiError ? e.status : 0,
          subject,
          done: want,
        }));
      },
    );
    return () => abort.abort();
  }, [want]);
  const same = url !== null && state.subject === subject;
  return {
    data: same ? state.data : null,
    error: same ? state.error : "",
    status: same ? state.status : 0,
    loading: url !== null && state.done !== want,
  };
}
