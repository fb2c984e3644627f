// What is wrong with the profile on show.

import { Strip } from "../parts/strip";
import type { ViewTree } from "./view_tree";

export function Notices({ v, reset }: { v: ViewTree; reset: () => void }) {
  return (
    <>
      {v.broken && (
        <Strip look="error" text={`The answer of the cluster-agent is no tree: ${v.broken}`} />
      )}
      {v.lostZoom && (
        <Strip
          text="The zoomed stack is not in this range; the whole is shown."
          act="Reset zoom"
          onAct={reset}
        />
      )}
      {v.shallow && !v.lostZoom && (
        <Strip
          look="error"
          testId="shallow"
          text={
            "Small frames below the zoomed one are missing, as they could not be loaded: " +
            v.shallow
          }
          act="Retry"
          onAct={v.retry}
        />
      )}
    </>
  );
}
