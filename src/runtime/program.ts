/**
 * Loads the bundled program with the V8 code cache that an earlier run left beside it. Node's own
 * compile cache holds the code compiled when a file was read. This one is taken while the program
 * runs, with every function that a start calls, which saves half of the start time. Its name
 * holds the build's id, since V8 itself compares little more than lengths.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { Script } from 'node:vm'

/** Milliseconds after which a start is over, and V8 has not discarded any of its code yet. */
const SETTLED_MS = 1000

function cached(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** Writes the code cache. If the folder cannot be written, every start compiles again. */
function keep(script: Script, path: string): void {
  const temporary = `${path}.${process.pid}`
  try {
    writeFileSync(temporary, script.createCachedData(), { mode: 0o644 })
    renameSync(temporary, path)
  } catch {
    rmSync(temporary, { force: true })
  }
}

/**
 * Runs a CommonJS file and returns its exports.
 * @param file its absolute path; ASCII, and already in the function that Node would put around
 *   it
 * @param build changes whenever the file does
 */
export function loadProgram(file: string, build: string): unknown {
  const path = `${file}.${build}.cache`
  const cachedData = cached(path)
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  const module = { exports: {} }
  const wrapped = script.runInThisContext() as (...scope: unknown[]) => void
  wrapped(module.exports, createRequire(file), module, file, dirname(file))
  if (cachedData === undefined || script.cachedDataRejected === true) {
    let kept = false
    const once = () => {
      if (!kept) keep(script, path)
      kept = true
    }
    setTimeout(once, SETTLED_MS).unref()
    process.once('exit', once)
  }
  return module.exports
}
