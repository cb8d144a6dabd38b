/** The command line on a machine whose places the first word names: what the tests of the system's instance run as other users. */
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
