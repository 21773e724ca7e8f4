/** What a soak prints at its end. */

import type { Figures } from "./figures.js";
import { commandLine, type SoakOptions } from "./options.js";

/** A broken run may have one cause and thousands of traces. */
const FAULTS_SHOWN_MAX = 40;

export function printReport(figures: Figures, faults: string[], options: SoakOptions): void {
  for (const [heading, lines] of figures) {
    console.log(`\n${heading}`);
    for (const [name, value] of lines) console.log(`  ${String(value).padStart(8)}  ${name}`);
  }
  console.log(`\n${commandLine(options)}`);
  if (faults.length === 0) {
    console.log("passed: nothing lost, nothing overwritten, nothing done twice");
    return;
  }
  console.log(`FAILED: ${faults.length} faults`);
  for (const fault of faults.slice(0, FAULTS_SHOWN_MAX)) console.log(`  ${fault}`);
}
