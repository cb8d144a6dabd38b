/** Calls tools over HTTP, and the same operations at their routes. */
import assert from 'node:assert/strict'
import { rest } from '../../src/api/rest/index.ts'
import { outgoing } from '../../src/api/client.ts'
import { type Tool, type ToolName, toolsOf } from '../../src/api/tools/tool.ts'
import type { Answer, TestDaemon } from '../daemon.ts'

export type Json = Record<string, unknown>

export const TOOLS = toolsOf(rest)

/** Returns the parameters in the path of a tool’s route. */
export const inPath = ({ route }: Tool): string[] =>
  [...route.path.matchAll(/{(\w+)}/g)].map(([, name]) => name as string)

export interface Caller {
  call(
    tool: string,
    args?: unknown,
    of?: { token?: string; headers?: Record<string, string> },
  ): Promise<Answer>
  /** Calls a tool, expects success and returns the answer. */
  called(tool: ToolName, args?: object): Promise<Json>
  /** Calls a tool and returns the id of the created resource. */
  idOf(tool: ToolName, args?: object): Promise<string>
  /** Sends the same request to the route itself: with an empty body, if it accepts one. */
  routed(tool: Tool, args: Json): Promise<Answer>
}

/**
 * Creates a caller of one daemon.
 * @param token the token to send by default
 */
export function newCaller(daemon: TestDaemon, token: string): Caller {
  const call: Caller['call'] = (tool, body, of) =>
    daemon.request('POST', `/api/v1/tools/${tool}`, { token, body, ...of })
  const called: Caller['called'] = async (tool, args = {}) => {
    const { status, json, text } = await call(tool, args)
    assert.equal(status, 200, text)
    return json as Json
  }
  return {
    call,
    called,
    idOf: async (tool, args) => (await called(tool, args))['id'] as string,
    routed({ route }, args) {
      const { path, query } = outgoing(route, args)
      const body = route.body === undefined ? {} : { body: {} }
      return daemon.request(route.method, query === '' ? path : `${path}?${query}`, {
        token,
        ...body,
      })
    },
  }
}
