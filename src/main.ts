/**
 * The entry point. On an unsupported Node it prints the supported versions before it loads
 * anything else.
 */
import net from 'node:net'

/** The build id, which the bundler inserts. It changes whenever a script of the bundle changes. */
declare const PROGRAM_BUILD: string | undefined

// Checks for the newest API that the program needs. Node 24.19 has this API, but some later
// versions (such as 26.3) do not, so comparing with one minimum version is not enough.
if (!('BoundSocket' in net)) {
  process.stderr.write(
    `countersignd needs Node 24.19 or a later 24, or 26.4 or newer; this is ${process.versions.node}. In a clone, "npx countersignd" uses the right one.\n`,
  )
  process.exit(1)
}

/**
 * Handles a write error on standard output or standard error. If the reader stops early, as in "|
 * head -1", the program exits without an error. If standard error is closed, only the exit code
 * reports the result.
 */
const unwritten = (name: string, error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') {
    if (name === 'output')
      process.stderr.write(`countersignd: cannot write to standard output: ${error.message}\n`)
    process.exit(1)
  }
  if (name === 'output') process.exit(0)
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => unwritten('output', error))
process.stderr.on('error', (error: NodeJS.ErrnoException) => unwritten('error', error))

// WebCrypto's ML-KEM, which sealing keys use, is marked as experimental in this Node. Test
// vectors cover its results, and the user cannot act on the warning.
const emitWarning = process.emitWarning.bind(process)
process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
  const isKnown = rest[0] === 'ExperimentalWarning' && /Web Crypto API/.test(String(warning))
  if (!isKnown) Reflect.apply(emitWarning, undefined, [warning, ...rest])
}

type Program = typeof import('./cli/run.ts')
interface Loaded {
  readonly program: Program
  /** Called when a server listens. */
  readonly started?: () => void
}

async function load(command: string | undefined): Promise<Loaded> {
  if (typeof PROGRAM_BUILD !== 'string') return { program: await import('./cli/run.ts') }
  const { isExecutable } = await import('./runtime/executable.ts')
  const { loadCarried, loadProgram } = await import('./runtime/program.ts')
  if (isExecutable) return { program: loadCarried() as Program }
  const kind = command === 'serve' || command === 'server' ? 'server' : 'command'
  const { exports, started } = loadProgram(import.meta.dirname, PROGRAM_BUILD, kind)
  return { program: exports as Program, started }
}

const argv = process.argv.slice(2)
void load(argv[0]).then(async ({ program, started }) => {
  process.exitCode = await program.run(argv, process, started)
})
