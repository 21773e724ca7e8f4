/** What the pages gain with a script: they stay up to date, ask before they change, and send once. */

import { guardForms } from "./forms.js";
import { keepUpToDate } from "./live.js";

// The notice belongs to the action before; a reload should not repeat it.
const here = new URL(location.href);
if (here.searchParams.has("notice")) {
  here.searchParams.delete("notice");
  history.replaceState(null, "", here);
}

guardForms();
keepUpToDate();
