/**
 * `node purging.ts FOLDER` purges a state folder in its own environment, and prints the code of
 * the error.
 */
import { purge } from '../../src/cli/commands/purge.ts'

const [stateDir = ''] = process.argv.slice(2)

await purge({ stateDir }).then(
  () => console.log('done'),
  (error: { code?: unknown; message: string }) => console.log(error.code ?? error.message),
)
