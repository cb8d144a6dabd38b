/**
 * The layers of `src`. A module imports from itself and from lower layers: not from higher ones,
 * and not from others of its own layer. No files import each other in a cycle, types included.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { join, sep } from 'node:path'
import { test } from 'node:test'

/**
 * The modules of each layer, the lowest layer first. A module is a file (without `.ts`) or a
 * folder; a file belongs to the module with the longest matching path.
 */
const LAYERS = [
  ['errors', 'elapsed', 'slices', 'languages'],
  ['runtime', 'crypto'],
  ['metrics'],
  ['log', 'config', 'keychain', 'releases'],
  ['api'],
  ['router', 'http/path', 'http/query', 'storage'],
  ['state'],
  ['service/db', 'service/calls'],
  ['service/mail'],
  ['service/events'],
  ['service/context'],
  ['service/accounts'],
  ['service/devices'],
  ['service/connections'],
  ['service/guests', 'service/hints', 'service/links', 'service/trust'],
  ['service/organisations'],
  ['service/stamps', 'service/exports', 'service/assistant', 'service/notices'],
  ['service/pages'],
  ['service/deletion', 'service/retention', 'service/subscribers'],
  ['service/service'],
  ['auth', 'remote', 'device/identity'],
  ['device/copies', 'device/names', 'device/in-order', 'device/operations', 'device/system-names'],
  ['device/codes'],
  ['device/context'],
  ['device/logs'],
  ['device/approval', 'device/connections'],
  ['device/trust'],
  ['device/first-contacts'],
  ['device/sync'],
  ['device/device'],
  ['device/session'],
  ['webhooks'],
  ['handlers'],
  ['desktop', 'http'],
  ['daemon'],
  ['cli'],
  ['main'],
]
/** Modules outside the layers, and the modules that they may import. */
const SEPARATE: Readonly<Record<string, readonly string[]>> = {
  pages: ['crypto', 'languages'],
  console: ['crypto', 'languages'],
}
/** Modules that import only these packages, and nothing of Node. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  crypto: /^(@noble\/|hpke$)/,
  pages: /^(?!)/,
  console: /^(preact|@preact\/signals|openapi-fetch|uplot|qr$)/,
  errors: /^(?!)/,
  languages: /^(?!)/,
  router: /^(?!)/,
  'http/path': /^(?!)/,
}

/** The types of the API's document, which `npm run types` makes. */
const API_TYPES = '../dist/api.d.ts'

const MODULES = [...LAYERS.flat(), ...Object.keys(SEPARATE)].toSorted((a, b) => b.length - a.length)
const layerOf = (module: string) => LAYERS.findIndex((modules) => modules.includes(module))
/** The module of a file, named from `src`; null for none. */
function moduleOf(file: string): string | null {
  const name = file.replace(/\.tsx?$/, '')
  return MODULES.find((module) => name === module || name.startsWith(`${module}/`)) ?? null
}

/** The comments of a source; a URL in a string is none. */
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<!\S)\/\/.*$/gm

/** The import specifiers of a source text: of values and types, static and dynamic. */
const importsOf = (text: string): string[] =>
  [
    ...text
      .replaceAll(COMMENTS, '')
      .matchAll(/\b(?:from\s*|(?:import|require)\s*\(?\s*)(['"`])(.*?)\1/g),
  ].map(([, , name]) => name as string)

/** The forbidden imports of a file, named from `src`, one message each. */
function faults(file: string, text: string): string[] {
  const module = moduleOf(file)
  if (module === null) return [`${file}: belongs to no module of LAYERS in test/layers.test.ts`]
  const layer = layerOf(module)
  const separate = SEPARATE[module]
  return importsOf(text).flatMap((name) => {
    if (name.includes('${')) return [`${file}: this specifier cannot be checked: ${name}`]
    if (!name.startsWith('.')) {
      const allowed = PACKAGES[module]
      return allowed === undefined || allowed.test(name) ? [] : [`${file}: imports ${name}`]
    }
    const imported = posix.join(posix.dirname(file), name)
    if (imported === API_TYPES) return []
    const target = moduleOf(imported)
    if (target === module) return []
    if (target === null) return [`${file}: imports ${imported}, which belongs to no module`]
    if (separate !== undefined)
      return separate.includes(target)
        ? []
        : [`${file}: imports ${target}, may import ${separate.join()}`]
    const other = layerOf(target)
    if (other !== -1 && other < layer) return []
    return [
      `${file}: imports ${target}, which is in ${other === layer ? 'the same' : 'a higher'} layer: move the code, or pass what it needs`,
    ]
  })
}

const SRC = join(import.meta.dirname, '../src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll(sep, '/'))
  .filter((file) => /\.tsx?$/.test(file))
const texts = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]))

test('modules import only from lower layers', () => {
  assert.deepEqual(
    [...texts].flatMap(([file, text]) => faults(file, text)),
    [],
  )
})

test('every module of the list is in src', () => {
  const found = new Set(files.map(moduleOf))
  assert.deepEqual(
    MODULES.filter((module) => !found.has(module)),
    [],
  )
})

/** The cycles among files: each file with the files that it imports. Tarjan's algorithm. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  function visit(file: string): void {
    order.set(file, order.size)
    lowest.set(file, order.get(file)!)
    stack.push(file)
    for (const next of imports.get(file) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!))
    }
    if (lowest.get(file) !== order.get(file)) return
    const cycle = stack.splice(stack.indexOf(file))
    if (cycle.length > 1) cycles.push(cycle.toSorted())
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return cycles
}

test('no files import each other in a cycle', () => {
  const imports = new Map(
    [...texts].map(([file, text]) => [
      file,
      importsOf(text)
        .filter((name) => name.startsWith('.'))
        .map((name) => posix.join(posix.dirname(file), name)),
    ]),
  )
  assert.deepEqual(cyclesOf(imports), [])
})

test('a planted cycle is found', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['b', 'd']],
    ['d', []],
  ])
  assert.deepEqual(cyclesOf(imports), [['b', 'c']])
})

/** The modules of a start, which import each other statically. */
const START = ['cli/run.ts', 'cli/commands/serve.ts', 'daemon/daemon.ts', 'daemon/embedded.ts']
/** The packages that a start loads. The others load at first use (decision 009). */
const AT_START = /^(valibot|@noble\/hashes\/.*)$/

/** The specifiers of a source text that are loaded with it: of values, static. */
const loadedWith = (text: string): string[] =>
  [
    ...text
      .replaceAll(COMMENTS, '')
      .matchAll(/^(?:import|export)\s+(?!type\b)(?:([^'"`;]*?)\sfrom\s+)?'([^']+)'/gm),
  ].flatMap(([, names = '', name]) =>
    /^\{(\s*type\s[^,}]+,?)+\s*\}$/.test(names) ? [] : [name as string],
  )

/** Returns the first path of static imports from the files to a package that `isLate` accepts. */
function pathTo(isLate: (name: string) => boolean, from: readonly string[]): string[] | null {
  const seen = new Set(from)
  const paths = from.map((file) => [file])
  for (const path of paths)
    for (const name of loadedWith(texts.get(path.at(-1)!)!)) {
      if (!name.startsWith('.') && isLate(name)) return [...path, name]
      const file = posix.join(posix.dirname(path.at(-1)!), name)
      if (seen.has(file) || !texts.has(file)) continue
      seen.add(file)
      paths.push([...path, file])
    }
  return null
}

test('a start loads no package that can wait for its first use', () => {
  const isLate = (name: string) => !name.startsWith('node:') && !AT_START.test(name)
  assert.deepEqual(pathTo(isLate, START), null, 'import one of these files at its first use')
})

test('a path to a package is found', () => {
  const path = pathTo((name) => name.startsWith('@noble/curves/'), ['crypto/logs/payload.ts'])
  assert.deepEqual(path, [
    'crypto/logs/payload.ts',
    'crypto/ed25519.ts',
    '@noble/curves/ed25519.js',
  ])
})

const MOST_FILES = { src: 32, test: 60 }
for (const [root, most] of Object.entries(MOST_FILES))
  test(`no folder of ${root} has more than ${most} files of its own`, () => {
    const base = join(import.meta.dirname, '..', root)
    const counts = new Map<string, number>()
    for (const entry of readdirSync(base, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1)
    assert.deepEqual(
      [...counts].filter(([, count]) => count > most),
      [],
    )
  })

test('at most six files are loose in src', () => {
  const loose = files.filter((file) => !file.includes('/'))
  assert(loose.length <= 6, `move some of ${loose.join(', ')} into a folder of src`)
})

const planted: [name: string, file: string, text: string, fault: RegExp | null][] = [
  ['a higher layer', 'state/x.ts', "import { a } from '../device/device.ts'", /higher layer/],
  ['the same layer', 'auth/x.ts', "import { a } from '../remote/remote.ts'", /the same layer/],
  ['a file of the same layer', 'router.ts', "import { a } from './http/path.ts'", /the same layer/],
  ['a higher folder', 'device/codes/x.ts', "import { a } from '../logs/y.ts'", /higher layer/],
  ['a type', 'api/x.ts', "import type { A } from '../handlers/context.ts'", /imports handlers/],
  ['an inline type', 'log.ts', "import { type A } from './daemon/x.ts'", /imports daemon/],
  ['an inline import of a type', 'log.ts', "type A = import('./daemon/x.ts').A", /imports daemon/],
  ['a dynamic import', 'auth/x.ts', "await import('../http/server.ts')", /imports http/],
  ['an export', 'state/x.ts', "export * from '../daemon/x.ts'", /imports daemon/],
  ['an import for its side effect', 'state/x.ts', "import '../main.ts'", /imports main/],
  [
    'an import over several lines',
    'state/x.ts',
    "import {\n  a,\n  b,\n} from '../cli/run.ts'",
    /imports cli/,
  ],
  ['double quotes', 'state/x.ts', 'import { a } from "../cli/run.ts"', /imports cli/],
  ['require', 'state/x.ts', "require('../cli/run.ts')", /imports cli/],
  ['a computed specifier', 'state/x.ts', 'await import(`../${x}.ts`)', /cannot be checked/],
  [
    'a path with a detour',
    'crypto/a/b.ts',
    "import { a } from '../../crypto/../state/state.ts'",
    /imports state/,
  ],
  ['Node in crypto', 'crypto/x.ts', "import { hash } from 'node:crypto'", /imports node:crypto/],
  ['a package in crypto', 'crypto/x.ts', "import * as v from 'valibot'", /imports valibot/],
  ['a similar package name', 'crypto/x.ts', "import { a } from 'hpke-js'", /imports hpke-js/],
  ['the api in a page', 'pages/x.ts', "import { a } from '../api/fields.ts'", /imports api/],
  [
    'a page in the service',
    'service/pages/x.ts',
    "import { a } from '../../pages/guest.ts'",
    /imports pages/,
  ],
  ['a new folder', 'utils/x.ts', '', /belongs to no module/],
  [
    'a comment',
    'crypto/x.ts',
    "/** See '../state/x.ts', from 'valibot'. */\n// from 'valibot'",
    null,
  ],
  ['a lower layer', 'daemon/x.ts', "import { a } from '../http/server.ts'", null],
  ['the same module', 'state/x.ts', "import { a } from './state.ts'", null],
  ['noble in crypto', 'crypto/x.ts', "import { a } from '@noble/hashes/sha2.js'", null],
  ['crypto in a page', 'pages/x.ts', "import { a } from '../crypto/code.ts'", null],
  ['Node in the state', 'state/x.ts', "import { a } from 'node:fs'", null],
]
for (const [name, file, text, fault] of planted)
  test(`${name} is ${fault === null ? 'accepted' : 'rejected'}`, () => {
    const found = faults(file, text)
    if (fault === null) assert.deepEqual(found, [])
    else assert.match(found.join('\n'), fault)
  })
