/**
 * Loads the scripts of the bundled program, from files or from the single executable. Scripts that
 * are files have V8 code caches beside them, which earlier runs wrote.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { carried, carries } from './executable.ts'

/**
 * When the code caches are written, in milliseconds after the start. By then the first sync is over
 * too, and V8 has not discarded any compiled code yet.
 */
const SETTLED_MS = 1000

/** Parts of Node that the first answer does not need. Loading them takes a fifth of the start. */
const LATE_BUILTINS = [
  'node:crypto',
  'node:fs/promises',
  'node:os',
  'node:stream/promises',
  'node:timers/promises',
  'node:v8',
]

/** Where the scripts of a program come from. A script is named by its path in the build folder. */
interface Scripts {
  /** `__dirname` of every script. */
  readonly folder: string
  /** The file of a script, as stack traces name it. */
  fileOf(name: string): string
  /** Returns the bytes of a script or a JSON file. */
  read(name: string): Buffer
  /** Returns the code cache of a script, if there is one. */
  cacheOf(name: string): Buffer | undefined
  /** Called with each script that has no valid code cache, after it has run. */
  compiled(name: string, script: Script): void
  /** Returns a module that is neither a script nor a part of Node. */
  foreign(name: string): unknown
}

type Wrapped = (...scope: unknown[]) => void
type Require = (name: string) => unknown

/**
 * Returns an object with the members of a part of Node. The part is loaded when a member is first
 * read.
 */
function loadedOnUse(name: string): object {
  const load = (_: object, member: string | symbol): unknown => {
    const builtin = process.getBuiltinModule(name) as object
    Object.defineProperties(part, Object.getOwnPropertyDescriptors(builtin))
    return Reflect.get(builtin, member)
  }
  // Once loaded, the members are the object's own, and reading them does not call the proxy.
  const part = Object.create(new Proxy({}, { get: load })) as object
  return part
}

/**
 * Returns the `require` of the scripts. They name each other by their path in the build folder,
 * with `./` before it. `./script#member` is one member of a script's exports. A script must be
 * ASCII, and already wrapped in the function that Node would put around a CommonJS module.
 */
function newRequire(scripts: Scripts): Require {
  const loaded = new Map<string, { exports: unknown }>()
  function runScript(name: string, module: { exports: unknown }): void {
    const cachedData = scripts.cacheOf(name)
    const script = new Script(scripts.read(name).toString('latin1'), {
      filename: scripts.fileOf(name),
      ...(cachedData === undefined ? {} : { cachedData }),
    })
    const wrapped = script.runInThisContext() as Wrapped
    wrapped(module.exports, requireHere, module, scripts.fileOf(name), scripts.folder)
    if (cachedData === undefined || script.cachedDataRejected === true)
      scripts.compiled(name, script)
  }
  const late = new Map(LATE_BUILTINS.map((name) => [name, loadedOnUse(name)]))
  function requireHere(name: string): unknown {
    if (!name.startsWith('./'))
      return late.get(name) ?? process.getBuiltinModule(name) ?? scripts.foreign(name)
    const [path = '', member] = name.slice('./'.length).split('#')
    let module = loaded.get(path)
    if (module === undefined) {
      loaded.set(path, (module = { exports: {} }))
      if (path.endsWith('.json')) module.exports = JSON.parse(scripts.read(path).toString())
      else runScript(path, module)
    }
    return member === undefined ? module.exports : Reflect.get(module.exports as object, member)
  }
  return requireHere
}

/** Returns the content of a file; undefined if it cannot be read. */
function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** Writes the code cache. If the folder is not writable, every start compiles the script again. */
function store(script: Script, path: string): void {
  const temporary = `${path}.${process.pid}`
  try {
    writeFileSync(temporary, script.createCachedData(), { mode: 0o644 })
    renameSync(temporary, path)
  } catch {
    rmSync(temporary, { force: true })
  }
}

/** A program that runs. */
interface Loaded {
  readonly exports: unknown
  /** Must be called when a server listens: its start is over. */
  readonly started: () => void
}

/**
 * Runs `program.cjs` and returns its exports. Node's own compile cache contains only the functions
 * that were compiled when a file was read. These code caches are written after the start, so they
 * contain every function that a start calls. That saves half of the start time. The name of a cache
 * contains the build id, because V8 itself checks little more than the length of the source.
 * @param folder the absolute path of the build folder
 * @param build an id that changes whenever a script changes
 * @param run what this run is. A command calls other functions than a server, so it has caches of
 *   its own. A server that cannot start writes none.
 */
export function loadProgram(folder: string, build: string, run: 'server' | 'command'): Loaded {
  const uncached = new Map<string, Script>()
  let isSettled = false
  const fileOf = (name: string) => join(folder, name)
  const cachePath = (name: string) => `${fileOf(name)}.${build}.${run}.cache`
  function settle(): void {
    isSettled = true
    for (const [name, script] of uncached) store(script, cachePath(name))
    uncached.clear()
  }
  function started(): void {
    setTimeout(settle, SETTLED_MS).unref()
    process.once('exit', settle)
  }
  const requireHere = newRequire({
    folder,
    fileOf,
    read: (name) => readFileSync(fileOf(name)),
    // Later, a server runs with other V8 flags, under which V8 rejects the caches of a start.
    cacheOf: (name) => (isSettled ? undefined : contentOf(cachePath(name))),
    compiled(name, script) {
      if (!isSettled) uncached.set(name, script)
    },
    foreign: (name) =>
      process.getBuiltinModule('node:module').createRequire(fileOf('program.cjs'))(name) as unknown,
  })
  const exports = requireHere('./program.cjs')
  if (run === 'command') started()
  return { exports, started }
}

/**
 * Runs the program in the executable and returns its exports. Its scripts can load only each other
 * and Node's built-in modules. They never load a file from the disk, where another user may have
 * put a file with the same name. The executable has a code cache if the build could run its own
 * output.
 */
export function loadCarried(): unknown {
  return newRequire({
    folder: dirname(process.execPath),
    fileOf: (name) => name,
    read: carried,
    cacheOf: (name) => (carries(`${name}.cache`) ? carried(`${name}.cache`) : undefined),
    compiled: () => undefined,
    foreign(name) {
      throw new Error(`There is no ${name} in this executable.`)
    },
  })('./program.cjs')
}
