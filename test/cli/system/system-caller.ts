/**
 * Runs the command line on a machine with the folders in its first argument. The tests of the
 * system’s instance run it as other users.
 */
import { run } from '../../../src/cli/run.ts'
import type { SystemPlaces } from '../../../src/config/values.ts'

const [machine = '', ...words] = process.argv.slice(2)
const { home, system } = JSON.parse(machine) as { home: string; system: SystemPlaces }
const { stdout, stderr, stdin, env } = process

void run(words, {
  stdout,
  stderr,
  stdin,
  env,
  machine: { platform: process.platform, homedir: () => home, system },
}).then((code) => {
  process.exitCode = code
})
