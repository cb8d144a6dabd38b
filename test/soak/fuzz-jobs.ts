/** The jobs of a round: all rows of both listeners, all tools, and mutated bytes of each row. */
import fc, { type Arbitrary } from 'fast-check'
import { agents } from '../../src/api/agents/index.ts'
import { rest } from '../../src/api/rest/index.ts'
import type { Table } from '../../src/api/route.ts'
import { ACCOUNT_RULES, restNeed, scopeTable } from '../../src/auth/scopes.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { accountTable } from '../../src/http/account-listener.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { MUTATIONS } from './fuzz-bytes.ts'
import { callFor } from './fuzz-calls.ts'
import { type Asked, type Row, goodFor, requestFor } from './fuzz-requests.ts'
import type { Mutated, Runner } from './fuzz-run.ts'
import type { FuzzFixture } from './fuzz-fixture.ts'

/** The shares of the requests. */
const SHARES = { api: 0.45, tools: 0.15, account: 0.225, bytes: 0.175 }
const NEEDS = { api: restNeed, account: scopeTable(ACCOUNT_RULES) }

/** Rows that delete the caller’s account or session. */
const ENDS = new Set(['account.delete', 'currentSession.delete'])

const rowsAt = (at: Row['at'], table: Table): Row[] =>
  rowsOf(table).map(({ group, name, route }) => ({
    name: `${group}.${name}`,
    at,
    route,
    need: NEEDS[at](route.method, route.path.slice(1).split('/')),
  }))
const API = rowsAt('api', { ...rest, ...agents })
const ACCOUNT_ROWS = rowsAt('account', accountTable)
const isEnd = ({ name }: Row) => ENDS.has(name)

/** The requests to one row in a round. */
export interface Job {
  readonly name: string
  readonly runs: number
  readonly property: (lane: number) => fc.IAsyncProperty<[unknown]>
}

const asProperty = <T>(arbitrary: Arbitrary<T>, act: (value: T, lane: number) => Promise<void>) =>
  ((lane) => fc.asyncProperty(arbitrary, (value) => act(value, lane))) as Job['property']

function asking(row: Row, runs: number, { known }: FuzzFixture, runner: Runner): Job {
  const name = `${row.at} ${row.name}`
  return {
    name,
    runs,
    property: asProperty(requestFor(row, known), (asked, lane) =>
      runner.send(lane, { ...row, name }, asked),
    ),
  }
}

function callings(runs: number, { known }: FuzzFixture, runner: Runner): Job[] {
  const routeOf = (name: string) => (API.find((row) => row.name === name) as Row).route
  const [direct, protocol] = [routeOf('toolCalls.create'), routeOf('mcp.post')]
  return TOOLS.map((tool) => ({
    name: `tool ${tool.name}`,
    runs,
    property: asProperty(callFor(tool, known), (asked, lane) => {
      const route = asked.target.endsWith('/mcp') ? protocol : direct
      return runner.send(lane, { name: `tool ${tool.name}`, at: 'api', route }, asked)
    }),
  }))
}

/**
 * Returns the jobs with each row’s valid requests, mutated and spliced with those of another row.
 */
function mutatings(
  rows: readonly Row[],
  runs: number,
  { known }: FuzzFixture,
  runner: Runner,
): Job[] {
  const goods = rows.map((row) => goodFor(row, known))
  return rows.map((row, i) => ({
    name: `bytes of ${row.at} ${row.name}`,
    runs,
    property: asProperty(
      fc.record({
        at: fc.constant(row.at),
        asked: goods[i] as Arbitrary<Asked>,
        other: goods[(i * 7 + 3) % goods.length] as Arbitrary<Asked>,
        mutations: MUTATIONS,
        how: fc.constantFrom<Mutated['how']>('whole', 'whole', 'body', 'body', 'splice'),
      }),
      (mutated) => runner.sendBytes(mutated),
    ),
  }))
}

const TOOLS = toolsOf(rest)

/**
 * Returns one round of `total` requests: every row of both listeners and every tool, generated
 * and mutated. Rows that end accounts are left out.
 */
export function roundOf(fixture: FuzzFixture, runner: Runner, total: number): Job[] {
  const [api, account] = [API, ACCOUNT_ROWS].map((rows) => rows.filter((row) => !isEnd(row))) as [
    Row[],
    Row[],
  ]
  const each = (part: keyof typeof SHARES, among: number) =>
    Math.ceil((SHARES[part] * total) / among)
  return [
    ...api.map((row) => asking(row, each('api', api.length), fixture, runner)),
    ...account.map((row) => asking(row, each('account', account.length), fixture, runner)),
    ...callings(each('tools', TOOLS.length), fixture, runner),
    ...[api, account].flatMap((rows) =>
      mutatings(
        // The answers to mutated bytes are read until the server closes the connection.
        rows.filter(({ route }) => route.lasting !== true),
        each('bytes', api.length + account.length),
        fixture,
        runner,
      ),
    ),
  ]
}

/** Returns jobs for the rows that end the caller’s account or session, at one listener. */
export const endsAt = (at: Row['at'], fixture: FuzzFixture, runner: Runner, runs: number): Job[] =>
  (at === 'api' ? API : ACCOUNT_ROWS).filter(isEnd).map((row) => asking(row, runs, fixture, runner))
