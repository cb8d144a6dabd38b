/** The program. An old Node cannot run it, and is told which one can before anything else is loaded. */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

const OLDEST = 24

declare const BUNDLED_VERSION: string | undefined

if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  process.stderr.write(
    `countersignd needs Node ${OLDEST} or newer; this is ${process.versions.node}. In a clone, "npx countersignd" uses the right one.\n`,
  )
  process.exit(1)
}

if (typeof BUNDLED_VERSION === 'string') enableCompileCache(join(import.meta.dirname, 'cache'))

void import('./cli/run.ts').then(async ({ run }) => {
  process.exitCode = await run(process.argv.slice(2), process)
})
