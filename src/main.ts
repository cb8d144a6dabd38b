/** The program. An old Node cannot run it, and is told which one can before anything else is loaded. */
import net from 'node:net'
import { join } from 'node:path'

/** Of the bundle: what changes whenever `program.cjs` does. */
declare const PROGRAM_BUILD: string | undefined

// The newest of what the program needs; a version says less, as later lines had it later.
if (!('BoundSocket' in net)) {
  process.stderr.write(
    `countersignd needs Node 24.19 or a later 24, or 26.4 or newer; this is ${process.versions.node}. In a clone, "npx countersignd" uses the right one.\n`,
  )
  process.exit(1)
}

/**
 * Whoever reads what is printed may have seen enough, as in "| head -1": that is no failure. Whoever closed standard error wants none
 * of it: the exit code says the rest.
 */
const unwritten = (name: string, error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') {
    if (name === 'output')
      process.stderr.write(`countersignd: standard output cannot be written: ${error.message}\n`)
    process.exit(1)
  }
  if (name === 'output') process.exit(0)
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => unwritten('output', error))
process.stderr.on('error', (error: NodeJS.ErrnoException) => unwritten('error', error))

// WebCrypto's ML-KEM, which sealing keys are made of, is marked as experimental in this Node. Test vectors
// cover its results, and the user can do nothing about the warning.
const emitWarning = process.emitWarning.bind(process)
process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
  const isKnown = rest[0] === 'ExperimentalWarning' && /Web Crypto API/.test(String(warning))
  if (!isKnown) Reflect.apply(emitWarning, undefined, [warning, ...rest])
}

type Program = typeof import('./cli/run.ts')

async function program(): Promise<Program> {
  if (typeof PROGRAM_BUILD !== 'string') return import('./cli/run.ts')
  const { isExecutable } = await import('./runtime/executable.ts')
  if (isExecutable) {
    const { loadCarried } = await import('./runtime/embedded-assets.ts')
    return loadCarried() as Program
  }
  const { loadProgram } = await import('./runtime/program.ts')
  return loadProgram(join(import.meta.dirname, 'program.cjs'), PROGRAM_BUILD) as Program
}

void program().then(async ({ run }) => {
  process.exitCode = await run(process.argv.slice(2), process)
})
