/**
 * Loads the program from the executable. Its scripts require each other and Node's built-in
 * modules, and never a file on disk, where another user may have put one with that name.
 */
import { dirname } from 'node:path'
import { Script, compileFunction } from 'node:vm'
import { carried, carries } from './executable.ts'

const loaded = new Map<string, { exports: unknown }>()

/**
 * The `require` of the bundle's scripts and libraries. Names of files are as in the build folder.
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
 * Runs the program and returns its exports. It uses precompiled code if the build could run its
 * own output.
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
