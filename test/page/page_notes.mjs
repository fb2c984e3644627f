// Notes and snapshots of the made-up server: what is written stays while it runs.

/**
 * Of the fixture's options it looks at `notes`, those that are there at the start, and `notesKey`,
 * without which none is written. `fixture.notes` are all that there are.
 */
export function createNotes(fixture) {
  let made = 0;
  const note = (p) => ({
    id: (++made).toString(16).padStart(16, "0"),
    ...{ service: "", type: "", at: Date.now(), created: Date.now(), text: "", url: "" },
    ...{ bytes: 0, compared: false },
    expires: Date.now() + Number.parseInt(p.ttl || "365") * 86_400_000,
    ...p,
  });
  fixture.notes = (fixture.options.notes ?? []).map(note);
  const find = (id) => fixture.notes.find((n) => n.id === id);
  const add = (p, text, more) => {
    const { service, type, name, url, at } = p;
    const given = { service, type, name, url, at: at && Number(at) };
    const made = note({ ...JSON.parse(JSON.stringify(given)), text, ...more });
    fixture.notes.push(made);
    return { status: 200, json: made };
  };
  const gone = { status: 404, json: { error: "it is not there any more" } };
  const actions = {
    "GET notes": (p) => {
      const some = fixture.notes.filter(
        (n) => (!p.id || n.id === p.id) && (!p.service || ["", p.service].includes(n.service)),
      );
      const notes = some.sort((a, b) => b.at - a.at).map(({ sides: _, ...n }) => n);
      return { status: 200, json: { n: notes.length, notes } };
    },
    "POST notes": (p, text) => add(p, text),
    "POST snapshots": (p, text) => {
      const side = ({ from, to }) => fixture.folded({ service: p.service, type: p.type, from, to });
      const sides = [side(p), p.baseFrom && side({ from: p.baseFrom, to: p.baseTo })];
      return add(p, text, { ttl: p.ttl, bytes: 1000, compared: Boolean(sides[1]), sides });
    },
    "DELETE notes": (p) => {
      if (!find(p.id)) return gone;
      fixture.notes = fixture.notes.filter((n) => n.id !== p.id);
      return { status: 200, json: {} };
    },
    "GET snapshot": (p) => {
      const body = find(p.id)?.sides?.[Number(p.base ?? 0)];
      return body ? { status: 200, body } : gone;
    },
  };
  /** What answers such a request, null if it is another one. */
  return (name, params, method, text, key) => {
    const action = actions[`${method} ${name}`];
    if (!action) return null;
    const { notesKey } = fixture.options;
    if (method !== "GET" && notesKey && key !== notesKey)
      return { status: 401, body: "wrong or missing key: send it in the header X-Api-Key\n" };
    return action(params, text);
  };
}
