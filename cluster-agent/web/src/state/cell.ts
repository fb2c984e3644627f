// An observable value, such as the frame under the cursor, whose changes do not render the whole
// page again.

export class Cell<T> {
  private watchers = new Set<(v: T) => void>();
  constructor(public value: T) {}
  set(v: T): void {
    if (v === this.value) return;
    this.value = v;
    for (const w of this.watchers) w(v);
  }
  watch(w: (v: T) => void): () => void {
    this.watchers.add(w);
    return () => this.watchers.delete(w);
  }
}
