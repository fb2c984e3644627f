// Copies and saves, also where the page came over plain HTTP.

/** Returns whether the text is in the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text); // only with HTTPS, or on localhost
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "sr";
    // in a dialog that is open, if there is one: elsewhere it could not have the focus
    (document.activeElement?.closest("[role=menu],dialog") ?? document.body).append(box);
    const before = document.activeElement as HTMLElement | null;
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    before?.focus();
    return done;
  }
}

export function saveFile(name: string, data: Blob | string): void {
  const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data]));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
