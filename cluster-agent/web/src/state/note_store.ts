// Reads and writes notes. The key for writing is kept in this tab only, and nowhere else.

import { useMemo } from "preact/hooks";
import type { Note } from "../model/notes";
import { notesUrl, useApi, type Notes } from "./api";
import { Cell } from "./cell";
import { noteAnswer } from "./connection";
import { useCell } from "./hooks";

const MINUTE = 60_000;

export const NEEDS_KEY = 401;
const GONE = 404; // somebody else was first
export const notesKey = new Cell("");
const wanted = new Cell(0); // how often the notes were asked for, beside each minute

export const readAgain = (): void => wanted.set(wanted.value + 1);

interface Sent {
  status: number; // of HTTP; 0 = no answer
  error: string; // "" = done
}

/** Adds a note, or deletes one that may be gone already. */
export async function sendNote(method: "POST" | "DELETE", url: string, body = ""): Promise<Sent> {
  try {
    const key = notesKey.value;
    const headers: Record<string, string> = key ? { "X-Api-Key": key } : {};
    const res = await fetch(url, { method, headers, ...(body && { body }) });
    noteAnswer(res.status);
    const text = await res.text();
    if (res.ok || res.status === GONE) readAgain();
    let said = text.trim();
    try {
      said = (JSON.parse(text) as { error?: string }).error ?? "";
    } catch {
      // a proxy, or the check of keys, answers in plain text
    }
    return { status: res.status, error: res.ok ? "" : said || `HTTP ${res.status}` };
  } catch {
    return { status: 0, error: "The cluster-agent does not answer" };
  }
}

export interface KnownNotes {
  notes: Note[];
  n: number; // how many there are
  error: string;
}

/** Notes about an application and about all; every note without one. */
export function useNotes(service: string, now: number): KnownNotes {
  const attempt = useCell(wanted) * 1e9 + Math.floor(now / MINUTE);
  const { data, error } = useApi<Notes>(notesUrl({ service }), service, attempt, true);
  return useMemo(() => ({ notes: data?.notes ?? [], n: data?.n ?? 0, error }), [data, error]);
}
