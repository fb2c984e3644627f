// Sends an open file to the cluster agent, which stores it. Only this button does.

import { useState } from "preact/hooks";
import type { OpenedFile } from "../../open/open_file";
import { noteAnswer } from "../../state/connection";
import { Popover } from "../parts/popover";

const NEEDS_KEY = 401;

interface Sent {
  status: number; // of HTTP; 0 = no answer
  text: string;
}

/** Uploads a file under a name, as docs/push.md has it. */
async function send(file: OpenedFile, service: string, key: string): Promise<Sent> {
  const query = new URLSearchParams({ name: service, format: file.format });
  try {
    const res = await fetch(`ingest?${query}`, {
      method: "POST",
      body: await file.source.arrayBuffer(),
      headers: key ? { "X-Api-Key": key } : {},
    });
    noteAnswer(res.status);
    return { status: res.status, text: (await res.text()).trim().slice(0, 300) };
  } catch {
    return { status: 0, text: "The cluster-agent does not answer" };
  }
}

const stem = (name: string): string =>
  name.replace(/(\.(gz|pb|pprof|prof|txt|folded|collapsed|json|speedscope|jfr))+$/i, "");

function Form({ file }: { file: OpenedFile }) {
  const [service, setService] = useState(stem(file.name).replace(/[{}]/g, "_"));
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState<Sent | null>(null);
  const locked = sent?.status === NEEDS_KEY;
  const done = sent !== null && sent.status >= 200 && sent.status < 300;
  const submit = async (e: Event): Promise<void> => {
    e.preventDefault();
    setBusy(true);
    setSent(await send(file, service.trim(), key));
    setBusy(false);
  };
  return (
    <form class="store-form" onSubmit={(e) => void submit(e)} data-testid="store-form">
      <label>
        Application
        <input
          required
          maxLength={200}
          value={service}
          data-testid="store-name"
          onInput={(e) => setService(e.currentTarget.value)}
        />
      </label>
      {(locked || key) && (
        <label>
          Key for uploads
          <input
            type="password"
            autocomplete="off"
            value={key}
            data-testid="store-key"
            onInput={(e) => setKey(e.currentTarget.value)}
          />
        </label>
      )}
      <p class={sent && !done ? "bad-text" : "dim"} role="status" data-testid="store-said">
        {done
          ? `Stored as ${service}. ${sent.text}`
          : sent
            ? sent.text || `HTTP ${sent.status}`
            : `${file.name} is sent to this cluster agent, which stores it.`}
      </p>
      <button type="submit" class="button primary" disabled={busy} data-testid="store-send">
        {busy ? "Sending…" : "Store"}
      </button>
    </form>
  );
}

export const StoreFile = ({ file }: { file: OpenedFile }) => (
  <Popover label="Store" title="Store this file" testId="store" align="right" kind="dialog">
    {() => <Form key={file.name} file={file} />}
  </Popover>
);
