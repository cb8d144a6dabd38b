/** The floors of the house: a room imports from itself and from lower floors, never up, never sideways. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { join, sep } from 'node:path'
import { test } from 'node:test'

/** A room is a folder or a file of `src`. */
const FLOORS = [
  ['errors', 'executable', 'crypto', 'slices'],
  ['api', 'config', 'keychain', 'log', 'asset', 'version', 'carried', 'program'],
  ['state', 'router', 'path', 'query', 'openapi', 'client'],
  ['device', 'auth', 'service', 'remote', 'tools'],
  ['handlers'],
  ['dispatch'],
  ['server', 'mcp'],
  ['daemon', 'account-server'],
  ['cli'],
  ['main'],
]
/** Rooms that stand outside the house, and the only rooms they may enter. */
const ANNEXES: Readonly<Record<string, readonly string[]>> = { pages: ['crypto'] }
/** Rooms that take only these packages, and nothing of Node. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  crypto: /^(@noble\/|hpke$)/,
  pages: /^(?!)/,
  errors: /^(?!)/,
  router: /^(?!)/,
  path: /^(?!)/,
}

const floorOf = (room: string) => FLOORS.findIndex((rooms) => rooms.includes(room))
const roomOf = (file: string) => (file.split('/')[0] as string).replace(/\.ts$/, '')

/** What a source text imports: values, types, at the top or when it is needed. */
const importsOf = (text: string): string[] =>
  [...text.matchAll(/\b(?:from\s*|(?:import|require)\s*\(?\s*)(['"`])(.*?)\1/g)].map(
    ([, , name]) => name as string,
  )

/** What is wrong with the imports of a file, named from `src`. */
function faults(file: string, text: string): string[] {
  const room = roomOf(file)
  const floor = floorOf(room)
  const annex = ANNEXES[room]
  if (floor === -1 && annex === undefined) return [`${file}: no floor has a room ${room}`]
  return importsOf(text).flatMap((name) => {
    if (name.includes('${')) return [`${file}: imports what cannot be read here, ${name}`]
    if (!name.startsWith('.')) {
      const allowed = PACKAGES[room]
      return allowed === undefined || allowed.test(name) ? [] : [`${file}: imports ${name}`]
    }
    const target = roomOf(posix.join(posix.dirname(file), name))
    if (target === room) return []
    if (annex !== undefined)
      return annex.includes(target) ? [] : [`${file}: enters ${target}, may enter ${annex.join()}`]
    const other = floorOf(target)
    if (other === -1) return [`${file}: enters ${target}, which is on no floor`]
    if (other < floor) return []
    return [`${file}: goes ${other === floor ? 'sideways' : 'up'} to ${target} (floor ${other})`]
  })
}

const SRC = join(import.meta.dirname, '../src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll(sep, '/'))
  .filter((file) => file.endsWith('.ts'))

test('no file of the house goes up or sideways', () => {
  const found = files.flatMap((file) => faults(file, readFileSync(join(SRC, file), 'utf8')))
  assert.deepEqual(found, [])
})

test('every room is in the house', () => {
  const rooms = new Set(files.map(roomOf))
  assert.deepEqual(
    [...rooms].filter((room) => floorOf(room) === -1 && !(room in ANNEXES)),
    [],
  )
})

const planted: [name: string, file: string, text: string, fault: RegExp | null][] = [
  ['up', 'state/x.ts', "import { a } from '../device/device.ts'", /up to device/],
  ['sideways', 'auth/x.ts', "import { a } from '../device/device.ts'", /sideways to device/],
  ['sideways, a file', 'router.ts', "import { a } from './path.ts'", /sideways to path/],
  ['up by a type', 'api/x.ts', "import type { A } from '../handlers/context.ts'", /up to handlers/],
  ['up by an inline type', 'log.ts', "import { type A } from './daemon.ts'", /up to daemon/],
  ['up by a type in place', 'log.ts', "type A = import('./daemon.ts').A", /up to daemon/],
  ['up when needed', 'auth/x.ts', "await import('../server/server.ts')", /up to server/],
  ['up by an export', 'state/x.ts', "export * from '../daemon.ts'", /up to daemon/],
  ['up for its effect', 'state/x.ts', "import '../main.ts'", /up to main/],
  ['up over lines', 'state/x.ts', "import {\n  a,\n  b,\n} from '../cli/run.ts'", /up to cli/],
  ['up in double quotes', 'state/x.ts', 'import { a } from "../cli/run.ts"', /up to cli/],
  ['up by require', 'state/x.ts', "require('../cli/run.ts')", /up to cli/],
  ['a name made of parts', 'state/x.ts', 'await import(`../${x}.ts`)', /cannot be read/],
  [
    'a way round',
    'crypto/a/b.ts',
    "import { a } from '../../crypto/../state/state.ts'",
    /up to state/,
  ],
  ['Node in crypto', 'crypto/x.ts', "import { hash } from 'node:crypto'", /imports node:crypto/],
  ['a package in crypto', 'crypto/x.ts', "import * as v from 'valibot'", /imports valibot/],
  ['a name like a package’s', 'crypto/x.ts', "import { a } from 'hpke-js'", /imports hpke-js/],
  ['a page in the house', 'pages/x.ts', "import { a } from '../api/fields.ts'", /enters api/],
  ['the house in a page', 'service/x.ts', "import { a } from '../pages/guest.ts'", /no floor/],
  ['a new room', 'utils/x.ts', '', /no room|no floor has a room utils/],
  ['down', 'daemon.ts', "import { a } from './server/server.ts'", null],
  ['the own room', 'state/x.ts', "import { a } from './state.ts'", null],
  ['noble in crypto', 'crypto/x.ts', "import { a } from '@noble/hashes/sha2.js'", null],
  ['crypto in a page', 'pages/x.ts', "import { a } from '../crypto/code.ts'", null],
  ['Node in the state', 'state/x.ts', "import { a } from 'node:fs'", null],
]
for (const [name, file, text, fault] of planted)
  test(`${name}: ${fault === null ? 'allowed' : 'found'}`, () => {
    const found = faults(file, text)
    if (fault === null) assert.deepEqual(found, [])
    else assert.match(found.join('\n'), fault)
  })
