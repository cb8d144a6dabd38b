/**
 * Every tool, by each of the four ways to call one: the same answer as its route, for every
 * caller.
 */
import { rest } from '../../src/api/rest/index.ts'
import { type Table, pathNames } from '../../src/api/route.ts'
import { type Tool, toolsOf } from '../../src/api/tools/tool.ts'
import { type Attack, CLOSE, JSON_TYPE, requestTo } from './attack.ts'
import { type Target, targetsOf } from './routes.ts'
import type { Caller, Scene } from './scene.ts'
import type { Shot } from './wire.ts'

const NOBODYS = `con_${'0'.repeat(26)}`

/** No row has a member of this name, so that an authorized call does nothing. */
const argumentsOf = ({ route }: Tool) => ({
  ...Object.fromEntries(pathNames(route.path).map((name) => [name, NOBODYS])),
  nonsense: 1,
})

const PROTOCOL = ['Accept: application/json, text/event-stream']

const callerLines = (caller: Caller, target: Target) => caller.lines(target.method, target.path)

interface Way {
  readonly name: string
  /** Returns whether a path is one of this way. */
  readonly on: (target: Target) => boolean
  readonly sent: (tool: Tool, target: Target) => { path: string; body: string; lines: string[] }
}

const asTool: Way = {
  name: 'as a tool',
  on: ({ name }) => name === 'toolCalls.create',
  sent: (tool, { pattern }) => ({
    path: pattern.replace('{name}', tool.name),
    body: JSON.stringify(argumentsOf(tool)),
    lines: [],
  }),
}

const byProtocol: Way = {
  name: 'by the protocol',
  on: ({ name }) => name === 'mcp.post',
  sent: (tool, { path }) => ({
    path,
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: tool.name, arguments: argumentsOf(tool) },
    }),
    lines: PROTOCOL,
  }),
}

/** Returns the need of a tool’s route by the interface’s own table. */
function needs(table: Table): (tool: Tool) => Target['need'] {
  const byPath = new Map(
    targetsOf({ api: table, account: {} }).map((target) => [
      `${target.method} ${target.pattern}`,
      target.need,
    ]),
  )
  return ({ route }) => byPath.get(`${route.method} ${route.path}`) ?? 'none'
}

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  read: ['read'],
  write: ['read', 'write'],
  full: ['read', 'write', 'full'],
}

/** Returns the error in an MCP answer: a tool error with the JSON of the route. */
function toolError(body: string): { error?: string; required_scope?: string } {
  const text = body.match(/(?<=^data: ).+$/m)?.[0] ?? body
  const { result } = JSON.parse(text) as {
    result?: { isError?: boolean; structuredContent?: { error?: string } }
  }
  return result?.isError === true ? (result.structuredContent ?? {}) : {}
}

function expectation(
  tool: Tool,
  way: Way,
  scope: string,
  need: Target['need'],
): Pick<Shot, 'want' | 'check'> {
  const required = need === 'full' ? 'full' : 'write or full'
  const refusal = (result: { error?: string; required_scope?: string }) =>
    result.error === 'insufficient_scope' && result.required_scope === required
      ? null
      : `${tool.name} is not refused as its route is: ${JSON.stringify(result)}`
  const through = (result: { error?: string }) =>
    result.error !== undefined &&
    !/insufficient_scope|unauthorized|invalid_token|internal/.test(result.error)
      ? null
      : `${tool.name} is not refused for its arguments: ${JSON.stringify(result)}`
  const isAllowed = ALLOWED[scope]?.includes(need) === true
  const check = isAllowed ? through : refusal
  if (way === byProtocol) return { want: /^200$/, check: ({ body }) => check(toolError(body)) }
  return {
    want: isAllowed
      ? /^(422 validation_failed|404 not_found|409 \w+)$/
      : /^403 insufficient_scope$/,
    check: ({ body }) => check(JSON.parse(body) as { error?: string }),
  }
}

async function shot(
  of: { tool: Tool; way: Way; caller: Caller; target: Target; scene: Scene },
  check: Pick<Shot, 'want' | 'check'>,
): Promise<Shot> {
  const { tool, way, caller, target, scene } = of
  const { path, body, lines } = way.sent(tool, target)
  const own = await callerLines(caller, target)
  const bytes = requestTo(target, scene, {
    path,
    body,
    lines: [...own, ...lines, JSON_TYPE, CLOSE],
  })
  return { bytes, alone: true, ...check }
}

/** Returns the attacks on the tools of a table. */
export function toolAttacks(table: Table = rest): Attack[] {
  const needOf = needs(table)
  const tools = toolsOf(table)
  return [asTool, byProtocol].flatMap((way) => [
    {
      row: 'Tools without a token',
      name: `every tool ${way.name}, without a token or with an invalid one`,
      on: way.on,
      shots: (target, scene) =>
        Promise.all(
          tools.flatMap((tool) =>
            ['nobody', 'an unknown token', 'a revoked token', 'an expired token'].map((name) => {
              const caller = scene.caller('api', name)
              const want = new RegExp(`^401 ${caller.refusal}$`)
              return shot({ tool, way, caller, target, scene }, { want })
            }),
          ),
        ),
    },
    ...['read', 'write', 'full'].map((scope): Attack => ({
      row: 'Tools without a token',
      name: `every tool ${way.name}, with a token of scope ${scope}`,
      on: way.on,
      shots: (target, scene) =>
        Promise.all(
          tools.map((tool) =>
            shot(
              { tool, way, caller: scene.caller('api', scope), target, scene },
              expectation(tool, way, scope, needOf(tool)),
            ),
          ),
        ),
    })),
  ])
}
