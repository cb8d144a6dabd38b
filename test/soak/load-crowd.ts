/** The shared state of a crowd of clients: its target, the answers, and their times. */
import assert from 'node:assert/strict'
import type { Json } from '../e2e/caller.ts'
import type { Lane, Sending } from './load-lane.ts'
import type { Reply } from './wire.ts'

/** An answer that another server can repeat. */
export interface Given {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Question extends Sending {
  /** The status, with the error code of an error. */
  readonly want: string
  readonly token?: string
  readonly body?: unknown
}

export interface Crowd {
  readonly port: number
  readonly size: number
  /**
   * Sends a request over a lane; returns the body. `kind` is its name in the figures. Throws on
   * any other answer than `want`.
   */
  ask(lane: Lane, kind: string, request: string, question: Question): Promise<Json>
  /** Sends raw bytes in the same way. */
  send(lane: Lane, kind: string, bytes: Buffer, question: Question): Promise<Json>
  /** Checks an answer; skipped for a server that only repeats prepared answers. */
  readonly check: (claim: () => void) => void
  /** Records a fault. */
  wrong(where: string, error: unknown): void
  /** Resets the times: measuring begins here. */
  start(): void
  readonly outcomes: {
    readonly wrong: readonly string[]
    readonly took: ReadonlyMap<string, readonly number[]>
    /** The part of them that opened a connection first and was not written slowly. */
    readonly opening: readonly number[]
    readonly given: ReadonlyMap<string, Given>
  }
}

/** Fields that each server sets itself. A `close` belongs to the answer. */
const OWN = new Set(['date', 'keep-alive', 'content-length', 'transfer-encoding'])
const isOwn = (name: string, value: string) =>
  OWN.has(name) || (name === 'connection' && value !== 'close')

const givenBy = ({ status, headers, body }: Reply): Given => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).filter((field) => !isOwn(...field))),
  body: body.toString(),
})

/** Returns the bytes of a request. */
export function bytesOf(
  port: number,
  kind: string,
  request: string,
  { token, body }: Pick<Question, 'token' | 'body'> = {},
): Buffer {
  const sent = body === undefined ? '' : JSON.stringify(body)
  return Buffer.from(
    [
      `${request} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      `X-Kind: ${kind}`,
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
      ...(body === undefined
        ? []
        : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(sent)}`]),
      '',
      sent,
    ].join('\r\n'),
  )
}

/**
 * Creates a crowd at a port.
 * @param judges whether answers are checked against the requests
 */
export function newCrowd(port: number, size: number, judges: boolean): Crowd {
  const wrong: string[] = []
  const took = new Map<string, number[]>()
  const opening: number[] = []
  const given = new Map<string, Given>()
  const requestIds = new Set<string>()

  const check: Crowd['check'] = (claim) => {
    if (judges) claim()
  }

  function checkReply({ status, headers }: Reply, body: Json, want: string): void {
    const id = headers['x-request-id'] ?? ''
    assert.match(id, /^[\w-]+$/)
    assert(!requestIds.has(id), `the answer ${id} came twice`)
    requestIds.add(id)
    const outcome = status < 400 ? String(status) : `${status} ${body?.error}`
    assert(outcome === want, `answered ${outcome}, not ${want}`)
  }

  const send: Crowd['send'] = async (lane, kind, bytes, question) => {
    const opened = lane.opened()
    const from = performance.now()
    const reply = await lane.ask(bytes, question)
    const ms = performance.now() - from
    const times = took.get(kind)
    if (lane.opened() > opened && question.pace === undefined) opening.push(ms)
    if (times === undefined) took.set(kind, [ms])
    else times.push(ms)
    const isJson = reply.headers['content-type'] === 'application/json'
    const body: Json =
      isJson && reply.body.length > 0 ? JSON.parse(reply.body.toString()) : reply.body.toString()
    check(() => checkReply(reply, body, question.want))
    if (!given.has(kind)) given.set(kind, givenBy(reply))
    return body
  }

  return {
    port,
    size,
    send,
    check,
    ask: (lane, kind, request, question) =>
      send(lane, kind, bytesOf(port, kind, request, question), question),
    wrong: (where, error) => wrong.push(`${where}: ${(error as Error).message}`),
    start() {
      took.clear()
      opening.length = 0
    },
    outcomes: { wrong, took, opening, given },
  }
}
