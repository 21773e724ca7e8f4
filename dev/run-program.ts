/**
 * Runs a program that loads job files, and ends the process with it: a job file may have opened a
 * connection when it was loaded, which would keep the process for ever.
 */
export async function runProgram(main: () => Promise<void>): Promise<never> {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
  process.exit();
}
