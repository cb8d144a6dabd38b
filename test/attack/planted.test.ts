/**
 * The table covers new routes: a planted route is attacked at once, and a weakened guard is
 * detected.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import type { Route } from '../../src/api/route.ts'
import { ROWS, type Row } from './attack.ts'
import { ATTACKS } from './attacks.ts'
import { TABLES, type Tables, targetsOf } from './routes.ts'
import { planAll, run } from './run.ts'
import { type Weakness, standIn } from './stand-in.ts'

const PLANTED = '/api/v1/planted/{id}'
const row = {
  method: 'POST',
  path: PLANTED,
  by: 'account',
  body: v.strictObject({ name: v.string() }),
} as const satisfies Route
const page = {
  method: 'GET',
  path: '/g/{id}/planted',
  by: 'account',
  media: ['application/octet-stream'],
} as const satisfies Route

const tables: Tables = {
  api: { ...TABLES.api, planted: { create: row } },
  account: {
    ...TABLES.account,
    planted: { create: row },
    guestPages: { ...TABLES.account['guestPages'], page },
  },
}

/** Rows that apply to every route with a body and a token. */
const ALWAYS: readonly Row[] = [
  'DNS rebinding',
  'Ambiguous Host',
  'A browser creates a token',
  'Cross-site request',
  'Path confusion',
  'Scope escalation',
  'Port squatting',
  'Smuggling, odd HTTP',
  'Methods',
  'Oversize and hostile JSON',
  'Leaks',
]

describe('a planted route', () => {
  const targets = targetsOf(tables)
  for (const listener of ['api', 'account'] as const)
    it(`at ${listener}: attacked by every matching row, without a change of the attacks`, () => {
      const own = targets.filter((one) => one.listener === listener && one.pattern === PLANTED)
      assert.equal(own.length, 1)
      const tried = planAll(ATTACKS, own).filter((one) => one.targets.length > 0)
      const rows = new Set(tried.map(({ attack }) => attack.row))
      assert.deepEqual(
        ALWAYS.filter((one) => !rows.has(one)),
        [],
      )
      assert(tried.length > 120, `${tried.length} attacks`)
    })

  it('is safe behind the guard', async (t) => {
    assert.deepEqual(await faultyRows(t, {}, ALWAYS), [])
  })
})

/**
 * Returns the rows in which a weakened guard fails, at a planted route, the token route and a
 * page.
 */
async function faultyRows(
  t: { after(fn: () => unknown): void },
  weak: Weakness,
  rows: readonly Row[],
): Promise<Row[]> {
  const scene = await standIn(tables, weak)
  t.after(() => scene.close())
  const paths = [PLANTED, page.path, '/api/v1/token', '/g/{id}', '/api/v1/org/members']
  const targets = scene.targets.filter(({ pattern }) => paths.includes(pattern))
  const attacks = ATTACKS.filter((attack) => rows.includes(attack.row))
  const report = await run(scene, planAll(attacks, targets), [])
  return ROWS.filter((one) => report.get(one)!.faults.length > 0)
}

describe('a weaker guard is detected', () => {
  const anyHost = { get: () => 'http://127.0.0.1', keys: () => ['x'].values() } as unknown as Map<
    string,
    string
  >
  const cases: [name: string, weak: Weakness, found: Row][] = [
    ['any Host is good', { rules: { hosts: anyHost } }, 'DNS rebinding'],
    [
      'a page of ours may create tokens',
      { rules: { tokenPaths: [] } },
      'A browser creates a token',
    ],
    ['links lead everywhere', { rules: { navigable: /^\// } }, 'Cross-site request'],
    ['every path is public', { need: () => 'none' }, 'Scope escalation'],
    [
      'an organisation is for every token',
      {
        need: (method, path) =>
          path[0] === 'health' ? 'none' : method === 'GET' ? 'read' : 'write',
      },
      'Scope escalation',
    ],
  ]
  for (const [name, weak, found] of cases)
    it(`${name}: ${found}`, async (t) => {
      assert.deepEqual(await faultyRows(t, weak, [found]), [found])
    })
})
