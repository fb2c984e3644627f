// The field for the key that writing notes needs, once the server has asked for it.

import { useCell } from "../../state/hooks";
import { notesKey } from "../../state/note_store";

export const NotesKey = () => (
  <label>
    Key for notes
    <input
      type="password"
      autocomplete="off"
      value={useCell(notesKey)}
      data-testid="notes-key"
      onInput={(e) => notesKey.set(e.currentTarget.value)}
    />
  </label>
);
