// Whether this browser may read, and how it gets and loses a session. The key itself is not kept.

import { Cell } from "./cell";

/** "open": nobody needs a key; "session": logged in; "locked": a key is needed. */
export type Access = "unknown" | "open" | "session" | "locked";

export const access = new Cell<Access>("unknown");

async function post(path: string, body: string): Promise<string> {
  try {
    const res = await fetch(path, { method: "POST", body });
    if (res.ok) return "";
    const text = await res.text();
    try {
      return (JSON.parse(text) as { error?: string }).error || `HTTP ${res.status}`;
    } catch {
      return text.trim() || `HTTP ${res.status}`;
    }
  } catch {
    return "The cluster-agent does not answer";
  }
}

/** Asks the server. If that fails, the page shows why when it loads its data. */
export async function checkAccess(): Promise<void> {
  try {
    const res = await fetch("api/session");
    const s = (await res.json()) as { mayRead: boolean; loggedIn: boolean };
    access.set(!res.ok || s.mayRead ? (s.loggedIn ? "session" : "open") : "locked");
  } catch {
    access.set("open");
  }
}

/** "", or why not. */
export async function logIn(key: string): Promise<string> {
  const error = await post("api/login", key);
  if (error) return error;
  await checkAccess();
  return access.value === "locked" ? "The browser does not keep the cookie of this page" : "";
}

export async function logOut(): Promise<void> {
  if (!(await post("api/logout", ""))) access.set("locked");
}
