/**
 * Loads the bundled program, from a file or from the single executable. A program loaded from a
 * file uses the V8 code cache that an earlier run wrote beside it.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction, Script } from 'node:vm'
import { carried, carries } from './executable.ts'

/**
 * When the code cache is written, in milliseconds after the load. By then the start is over, and V8
 * has not discarded any compiled code yet.
 */
const SETTLED_MS = 1000

function cached(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** Writes the code cache. If the folder is not writable, every start compiles the program again. */
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
 * Runs a CommonJS file and returns its exports. Node's own compile cache contains only the
 * functions that were compiled when the file was read. This code cache is written after the start,
 * so it contains every function that a start calls. That saves half of the start time. The name of
 * the cache file contains the build id, because V8 itself checks little more than the length of the
 * source.
 * @param file the absolute path of the file. It must be ASCII, and already wrapped in the function
 *   that Node would put around a CommonJS module.
 * @param build an id that changes whenever the file changes
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
    let isStored = false
    const once = () => {
      if (!isStored) keep(script, path)
      isStored = true
    }
    setTimeout(once, SETTLED_MS).unref()
    process.once('exit', once)
  }
  return module.exports
}

const loaded = new Map<string, { exports: unknown }>()

/**
 * The `require` of scripts and libraries in the executable. A file's name is its path in the build
 * folder.
 */
function requireCarried(name: string): unknown {
  if (!name.startsWith('./')) {
    const builtin = process.getBuiltinModule(name) as unknown
    if (builtin === undefined) throw new Error(`There is no ${name} in this executable.`)
    return builtin
  }
  const path = name.slice('./'.length)
  let module = loaded.get(path)
  if (module === undefined) {
    loaded.set(path, (module = { exports: {} }))
    if (path.endsWith('.json')) module.exports = JSON.parse(carried(path).toString())
    else run(library(path), module, path)
  }
  return module.exports
}

type Wrapped = (...scope: unknown[]) => void
const SCOPE = ['exports', 'require', 'module', '__filename', '__dirname']

const library = (path: string): Wrapped =>
  compileFunction(carried(path).toString(), SCOPE, { filename: path }) as Wrapped

const run = (wrapped: Wrapped, module: { exports: unknown }, path: string): void =>
  wrapped(module.exports, requireCarried, module, path, dirname(process.execPath))

/**
 * Runs the program in the executable and returns its exports. Its scripts can load only each other
 * and Node's built-in modules. They never load a file from the disk, where another user may have
 * put a file with the same name. The executable has a code cache if the build could run its own
 * output.
 */
export function loadCarried(): unknown {
  const script = new Script(carried('program.cjs').toString('latin1'), {
    filename: 'program.cjs',
    ...(carries('program.cache') ? { cachedData: carried('program.cache') } : {}),
  })
  const module = { exports: {} }
  run(script.runInThisContext() as Wrapped, module, 'program.cjs')
  return module.exports
}
