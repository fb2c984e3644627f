// The login form when reading needs a key, and the logout button.

import { useState } from "preact/hooks";
import { useCell } from "../../state/hooks";
import { access, logIn, logOut } from "../../state/session";

export function Login() {
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event): Promise<void> => {
    e.preventDefault();
    setBusy(true);
    setError(await logIn(key));
    setBusy(false);
  };
  return (
    <main class="login">
      <form onSubmit={submit} data-testid="login">
        <h1>Profiles</h1>
        {/* password managers keep a key under a name */}
        <input
          class="sr"
          type="text"
          name="username"
          autocomplete="username"
          value="profiles"
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
        <label for="key">Key</label>
        <input
          id="key"
          type="password"
          name="password"
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck={false}
          required
          autofocus
          value={key}
          onInput={(e) => setKey(e.currentTarget.value)}
        />
        <button type="submit" class="button primary" disabled={busy}>
          Log in
        </button>
        <p class="error" role="alert">
          {error}
        </p>
        <p class="dim">
          The key that the agent was started with: <code>--read-api-key</code>, or else{" "}
          <code>--api-key</code>.
        </p>
      </form>
    </main>
  );
}

export function LogOut() {
  if (useCell(access) !== "session") return null;
  return (
    <button
      type="button"
      class="button plain quiet-link"
      data-testid="logout"
      onClick={() => void logOut()}
    >
      Log out
    </button>
  );
}
