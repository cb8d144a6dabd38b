/** The type of an attack: data from which the runner makes shots at every route concerned. */
import { consoleTable } from '../../src/api/console/index.ts'
import type { RawAnswer } from '../http/raw.ts'
import type { Listener, Target } from './routes.ts'
import type { Caller, Scene } from './scene.ts'
import type { Shot } from './wire.ts'

/** The rows of the threat table (SECURITY.md) that can be sent over a socket. */
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
  'Exchange of the console',
  'Start page',
] as const
export type Row = (typeof ROWS)[number]

export interface Attack {
  readonly row: Row
  readonly name: string
  /** Returns whether the attack concerns a route. */
  on(target: Target): boolean
  /** Returns the requests to send to a route. */
  shots(target: Target, scene: Scene): Promise<Shot[]> | Shot[]
}

/** The result of a drill: an attack of more than one request or more than one client. */
export interface Outcome {
  readonly sent: number
  /** The answers, each with its count. */
  readonly answers: ReadonlyMap<string, number>
  /** The wrong answers. */
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
  /** Header lines in addition to Host and those of the caller. */
  readonly lines?: readonly string[]
  /** One character for each byte; its length is sent unless the lines set a framing. */
  readonly body?: string
}

/** The path that only the own page may call. */
export const PAGE_PATH = consoleTable.consoleSession.create.path

/** Returns the header lines that a browser adds to a request of the own page. */
const ownPage = ({ at }: Scene) => [`Origin: http://${at.api.host}`, 'Sec-Fetch-Site: same-origin']

/** Returns the bytes of a request to a target; parts that are not given are valid. */
export function requestTo(target: Target, scene: Scene, sent: Sent = {}): string {
  const {
    method = target.method,
    path = target.path + target.query,
    version = 'HTTP/1.1',
    lines = [],
    body,
  } = sent
  const { host = scene.at[target.listener].host } = sent
  // Without these, the guard rejects each request to the path that is only for the own page.
  const isOwn = target.listener === 'api' && target.pattern === PAGE_PATH
  const own =
    isOwn &&
    !isOverSocket(target, scene) &&
    !lines.some((line) => /^(origin|sec-fetch-site):/i.test(line))
  const framed = !body || lines.some((line) => /^(content-length|transfer-encoding)/i.test(line))
  const head = [
    `${method} ${path} ${version}`,
    `Host: ${host}`,
    ...(own ? ownPage(scene) : []),
    ...lines,
    ...(framed ? [] : [`Content-Length: ${body.length}`]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** Returns the bytes of a request by this caller. */
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

/**
 * Returns the bytes of a request that the route would answer but for its fault. It is rejected
 * before authorization.
 */
export const opened = async (target: Target, scene: Scene, sent: Sent = {}): Promise<string> =>
  requestTo(target, scene, {
    ...sent,
    lines: [...(await scene.opening(target)), ...(sent.lines ?? [])],
  })

export const CLOSE = 'Connection: close'
export const JSON_TYPE = 'Content-Type: application/json'
export const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded'
/** A valid body for the token route. */
export const NEW_TOKEN = '{"name":"stolen","scope":"full"}'

/** Returns the status of an answer, with the error code of an error. */
export function answerText({ status, body }: RawAnswer): string {
  const [, error] = /^{"error":"(\w+)"/.exec(body) ?? []
  return error === undefined ? String(status) : `${status} ${error}`
}

/** Returns the port of a listener, as a shot names it. */
export const portOf = (scene: Scene, listener: Listener) =>
  new URL(`http://${scene.at[listener].host}`).port

/** Whether a route is attacked over the Unix socket, which any Host reaches and no browser may. */
export const isOverSocket = ({ listener }: Target, { channel }: Scene): boolean =>
  listener === 'api' && channel === 'socket'
