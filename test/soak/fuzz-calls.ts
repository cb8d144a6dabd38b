/** Generates calls of tools: all input of a row in one object, over each route. */
import fc, { type Arbitrary } from 'fast-check'
import { pathNames } from '../../src/api/route.ts'
import type { Tool } from '../../src/api/tools/tool.ts'
import { spoken } from '../mcp/speaking.ts'
import type { Known } from './fuzz-known.ts'
import { type Asked, WHO, often, segmentFor } from './fuzz-requests.ts'
import { membersFor } from './fuzz-schemas.ts'
import { mutated } from './fuzz-mutations.ts'

/** Generates all arguments of a tool, in one object. */
function argumentsFor({ route }: Tool, known: Known): Arbitrary<object> {
  const parameters = pathNames(route.path).map(
    (name) =>
      [
        name,
        segmentFor(name, route.path.slice(0, route.path.indexOf(`{${name}}`)), known),
      ] as const,
  )
  return fc
    .tuple(
      fc.record(Object.fromEntries(parameters)),
      membersFor(route.query, known),
      membersFor(route.body, known),
    )
    .map((all) => Object.assign({}, ...all) as object)
}

const MESSAGES: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 1, method: 'resources/list' },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/read',
      params: { uri: 'countersign://connections/Mum' },
    },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'prompts/get',
      params: { name: 'verify_caller', arguments: { name: 'Mum' } },
    },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'completion/complete',
      params: {
        ref: { type: 'ref/prompt', name: 'verify_caller' },
        argument: { name: 'name', value: 'M' },
      },
    },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 't', version: '0' },
      },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '1.0', id: 1, method: 'tools/list' },
    [],
  ),
  fc.jsonValue(),
)

/**
 * Generates calls of a tool over `/tools/{name}`, over each version of the protocol, or over an
 * invalid one.
 */
export function callFor(tool: Tool, known: Known): Arbitrary<Asked> {
  const good = argumentsFor(tool, known)
  const given = often<unknown>(1, good, mutated(good))
  const who = fc.oneof(...WHO.api)
  const json: [string, string] = ['Content-Type', 'application/json']
  const direct = fc
    .tuple(given, who, fc.constantFrom('/tools', '/api/v1/tools'))
    .map(([value, asker, under]): Asked => ({
      method: 'POST',
      target: `${under}/${tool.name}`,
      who: asker,
      headers: [json],
      body: JSON.stringify(value) ?? null,
    }))
  const calls = fc.tuple(fc.constantFrom('legacy', 'modern'), given).map(([era, value]) =>
    spoken(era, {
      method: 'tools/call',
      params: { name: tool.name, arguments: value },
    }),
  )
  const others = mutated(MESSAGES).map((message) => ({
    message,
    headers: { Accept: 'application/json, text/event-stream' },
  }))
  const protocol = fc
    .tuple(
      often<{ message: unknown; headers: object }>(6, calls, others),
      who,
      fc.constantFrom('/mcp', '/api/v1/mcp'),
    )
    .map(([{ message, headers }, asker, target]): Asked => ({
      method: 'POST',
      target,
      who: asker,
      headers: [json, ...(Object.entries(headers) as [string, string][])],
      body: JSON.stringify(message) ?? null,
    }))
  return fc.oneof(direct, protocol)
}
