/** What an attack is: data, from which the runner makes shots at every route that it concerns. */
import type { RawAnswer } from '../http/raw.ts'
import type { Listener, Target } from './routes.ts'
import type { Caller, Scene } from './scene.ts'
import type { Shot } from './wire.ts'

/** The rows of the table of threats (SECURITY.md) that can be sent over a socket. */
export const ROWS = [
  'DNS rebinding',
  'Ambiguous Host',
  'A browser creates a token',
  'Cross-site request',
  'Path confusion',
  'Tools without a token',
  'Scope escalation',
  'Other local users',
  'Port squatting',
  'Slow clients, floods',
  'Requests pipelined and not read',
  'Smuggling, odd HTTP',
  'Methods',
  'Oversize and hostile JSON',
  'Token guessing',
  'Guessing three words',
  'Leaks',
  'Public pages',
  'Open-link form',
] as const
export type Row = (typeof ROWS)[number]

export interface Attack {
  readonly row: Row
  readonly name: string
  /** Which routes it concerns. */
  on(target: Target): boolean
  /** What is sent to one of them. */
  shots(target: Target, scene: Scene): Promise<Shot[]> | Shot[]
}

/** What an attack found that is a play of its own: more than one request, or more than one client. */
export interface Outcome {
  readonly sent: number
  /** What was answered, and how often. */
  readonly said: ReadonlyMap<string, number>
  /** What was not answered as it must be. */
  readonly faults: readonly string[]
}

export interface Drill {
  readonly row: Row
  readonly name: string
  run(scene: Scene): Promise<Outcome>
}

export const everywhere = () => true
export const isRoute = ({ route }: Target) => route !== null
export const takesBody = ({ route }: Target) => route !== null && route.method !== 'GET'

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly version?: string
  readonly host?: string
  /** Header lines beside Host and the caller's. */
  readonly lines?: readonly string[]
  /** Bytes as characters; its length is said unless the lines say something of it. */
  readonly body?: string
}

/** The bytes of a request to a target; what is not said is as it should be. */
export function requestTo(target: Target, scene: Scene, sent: Sent = {}): string {
  const {
    method = target.method,
    path = target.path + target.query,
    version = 'HTTP/1.1',
    lines = [],
    body,
  } = sent
  const { host = scene.at[target.listener].host } = sent
  const framed = !body || lines.some((line) => /^(content-length|transfer-encoding)/i.test(line))
  const head = [
    `${method} ${path} ${version}`,
    `Host: ${host}`,
    ...lines,
    ...(framed ? [] : [`Content-Length: ${body.length}`]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** The bytes of a request that this caller sends. */
export async function askedBy(
  caller: Caller,
  target: Target,
  scene: Scene,
  sent: Sent = {},
): Promise<string> {
  const { method = target.method, path = target.path, lines = [] } = sent
  const own = await caller.lines(method, path)
  return requestTo(target, scene, { ...sent, lines: [...own, ...lines] })
}

/** The bytes of a request that the route would answer, were it not for what is wrong with it: refused before anybody looks who asks. */
export const opened = async (target: Target, scene: Scene, sent: Sent = {}): Promise<string> =>
  requestTo(target, scene, {
    ...sent,
    lines: [...(await scene.opening(target)), ...(sent.lines ?? [])],
  })

export const CLOSE = 'Connection: close'
export const JSON_TYPE = 'Content-Type: application/json'
export const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded'
/** A good body for the token route. */
export const NEW_TOKEN = '{"name":"stolen","scope":"full"}'

/** What an answer says: its status, and its error where it is one. */
export function saidBy({ status, body }: RawAnswer): string {
  const [, error] = /^{"error":"(\w+)"/.exec(body) ?? []
  return error === undefined ? String(status) : `${status} ${error}`
}

/** Where a listener is, in the words of a shot. */
export const portOf = (scene: Scene, listener: Listener) => new URL(scene.at[listener].address).port
