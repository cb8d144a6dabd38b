/** Sends generated requests and judges the answers. */
import { safeParse } from 'valibot'
import type { Route } from '../../src/api/route.ts'
import { CODES, type ErrorCode, statusOf } from '../../src/errors.ts'
import { type Mutation, mutate, splice } from './fuzz-bytes.ts'
import type { Asked, Listener, Row } from './fuzz-requests.ts'
import type { FuzzFixture } from './fuzz-fixture.ts'
import { Hang, type Reply, type Wire, openWire, repliesIn, sendAll } from './wire.ts'

/** The time limit of a request on a busy machine. */
const LIMIT_MS = 20_000

/** A property of an answer that no answer may have. */
export class Fault extends Error {
  readonly kind: 'crash' | 'hang' | 'status' | 'form'

  constructor(kind: Fault['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

export interface Runner {
  /** Sends a request over one of the kept connections. Throws Fault. */
  send(lane: number, row: Pick<Row, 'name' | 'at' | 'route'>, asked: Asked): Promise<void>
  /** Sends mutated bytes of valid requests. Throws Fault. */
  sendBytes(of: Mutated): Promise<void>
  /** The number of answers of each row with each status. */
  readonly counts: ReadonlyMap<string, Map<string, number>>
  /** Returns the number of requests sent. */
  sent(): number
  restored(): number
  close(): void
}

export interface Mutated {
  readonly at: Listener
  readonly asked: Asked
  readonly other: Asked
  readonly mutations: readonly Mutation[]
  readonly how: 'whole' | 'body' | 'splice'
}

const shown = (bytes: Buffer | string, most = 1500) => {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1')
  return JSON.stringify(text.length > most ? `${text.slice(0, most)}… (${text.length})` : text)
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    throw new Fault('form', `JSON that is none: ${shown(body)}`)
  }
}

const CODE_SET: ReadonlySet<string> = new Set(CODES)

/** Checks the common shape of errors; errors of the Model Context Protocol have another. */
function checkError({ status, headers, body }: Reply, route: Route | null): string {
  const type = headers['content-type']
  const media = route?.media ?? []
  if (type?.startsWith('text/html') && (route === null || media.includes(type))) return ''
  if (type !== 'application/json') throw new Fault('form', `an error as ${type}: ${shown(body)}`)
  const { error, message, jsonrpc } = parsed(body) as Record<string, unknown>
  const isProtocol = route === null || route.path.endsWith('/mcp')
  if (isProtocol && jsonrpc === '2.0' && typeof error === 'object') return ''
  if (
    typeof error !== 'string' ||
    !CODE_SET.has(error) ||
    typeof message !== 'string' ||
    message === ''
  )
    throw new Fault('form', `not the one shape: ${shown(body)}`)
  if (statusOf(error as ErrorCode) !== status) throw new Fault('form', `${error} as ${status}`)
  return error
}

/**
 * Checks an answer against the rules for all answers, and against its row’s schema.
 * @param route null if the row is not known
 * @returns the error code; empty if there is none
 */
export function faultOf(reply: Reply, route: Route | null, bodiless = false): string {
  const { status, headers, body } = reply
  if (status === 100 && route === null) return ''
  if (status < 200 || status >= 500) throw new Fault('status', `${status} ${shown(body)}`)
  if (!/^[\w-]+$/.test(headers['x-request-id'] ?? '')) throw new Fault('form', 'no request id')
  if (headers['x-content-type-options'] !== 'nosniff') throw new Fault('form', 'no nosniff')
  const odd = Object.keys(headers).find((name) => /^(access-control|set-cookie)/.test(name))
  if (odd !== undefined) throw new Fault('form', odd)
  if (bodiless) return ''
  if (status >= 400) return checkError(reply, route)
  if (headers['content-type'] !== 'application/json') return ''
  // A notification of the Model Context Protocol has an empty answer.
  if (status === 202 && body.length === 0 && route?.path.endsWith('/mcp') !== false) return ''
  const value = parsed(body)
  const schema = route?.reply
  if (schema === undefined) return ''
  const result = safeParse(schema, value)
  if (!result.success)
    throw new Fault('form', `not as the row says (${result.issues[0]?.message}): ${shown(body)}`)
  return ''
}

/**
 * Returns the answers to some bytes; none if they are unreadable and one may answer HEAD. Such an
 * answer has no body although its header fields announce one.
 */
function repliesTo(bytes: Buffer, answered: Buffer): Reply[] {
  try {
    return repliesIn(answered)
  } catch (error) {
    if (!bytes.includes('HEAD')) throw error
    return []
  }
}

async function bytesOf(
  fixture: FuzzFixture,
  at: Listener,
  asked: Asked,
  more: string[] = [],
): Promise<[Buffer, Buffer]> {
  const { method, target, who, headers, body } = asked
  const own = await fixture.fieldsOf(who, at, method, target.replace(/\?.*/s, ''))
  const content = Buffer.from(body ?? '')
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${fixture.port(at)}`,
    ...[...own, ...headers].map(([name, value]) => `${name}: ${value}`),
    ...more,
    ...(body === null ? [] : [`Content-Length: ${content.length}`]),
  ]
  return [Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content]
}

/**
 * Creates a runner that sends to the listeners of a fixture, over this many connections to each.
 */
export function newRunner(fixture: FuzzFixture, lanes: number): Runner {
  const wires = (at: Listener): Wire[] =>
    Array.from({ length: lanes }, () => openWire(fixture.port(at), LIMIT_MS))
  const open = { api: wires('api'), account: wires('account') }
  const counts = new Map<string, Map<string, number>>()
  const running = new Set<string>()
  let [sent, restored] = [0, 0]
  let fallen: string | null = null

  function count(name: string, what: string): void {
    let row = counts.get(name)
    if (row === undefined) counts.set(name, (row = new Map<string, number>()))
    row.set(what, (row.get(what) ?? 0) + 1)
  }

  /**
   * Throws if the process has ended. Any running request may be the cause, so the first to notice
   * it keeps all of them.
   */
  function requireLife(): void {
    if (!fixture.daemon.ended()) return
    fallen ??= `the daemon ended. Under way: ${[...running].join('\n')}\nLog: ${fixture.daemon.log.slice(-5).join('\n')}`
    throw new Fault('crash', fallen)
  }

  async function watched<T>(bytes: Buffer, act: () => Promise<T>): Promise<T> {
    requireLife()
    const text = shown(bytes)
    running.add(text)
    sent++
    try {
      return await act()
    } catch (error) {
      requireLife()
      if (error instanceof Fault) throw new Fault(error.kind, `${error.message}\n  to ${text}`)
      const kind = error instanceof Hang ? 'hang' : 'form'
      throw new Fault(kind, `${(error as Error).message}\n  to ${text}`)
    } finally {
      running.delete(text)
    }
  }

  return {
    async send(lane, { name, at, route }, asked) {
      const bytes = Buffer.concat(await bytesOf(fixture, at, asked))
      const isHead = asked.method === 'HEAD'
      const error = await watched(bytes, async () => {
        const reply = await (open[at][lane] as Wire).ask(bytes, isHead)
        if (reply === null) {
          requireLife()
          count(name, 'closed')
          return ''
        }
        fixture.noted(reply.headers['dpop-nonce'])
        // Another path or method is another row, or none.
        const isOwn = asked.method === route.method
        const fault = faultOf(reply, isOwn ? route : null, isHead)
        count(name, `${reply.status}${fault === '' ? '' : ` ${fault}`}`)
        if (reply.status < 300 && reply.headers['content-type'] === 'application/json' && !isHead)
          if (reply.body.length > 0 && reply.body.length < 200_000)
            fixture.known.learn(route.path, parsed(reply.body))
        return fault
      })
      if (error !== '' && (await fixture.restore(asked.who, error))) restored++
    },
    async sendBytes({ at, asked, other, mutations, how }) {
      const [head, body] = await bytesOf(fixture, at, asked, ['Connection: close'])
      let bytes: Buffer
      if (how === 'splice') {
        const [head2, body2] = await bytesOf(fixture, at, other, ['Connection: close'])
        bytes = splice(
          Buffer.concat([head, body]),
          Buffer.concat([head2, body2]),
          mutations[0]?.at ?? 0,
        )
      } else if (how === 'body' && body.length > 0) {
        const changed = mutate(body, mutations)
        const length = head
          .toString('latin1')
          .replace(/(?<=Content-Length: )\d+/, String(changed.length))
        bytes = Buffer.concat([Buffer.from(length, 'latin1'), changed])
      } else bytes = mutate(Buffer.concat([head, body]), mutations)
      await watched(bytes, async () => {
        const answered = await sendAll(fixture.port(at), bytes, LIMIT_MS)
        requireLife()
        const replies = repliesTo(bytes, answered)
        for (const reply of replies)
          count('bytes', `${reply.status} ${faultOf(reply, null)}`.trim())
        if (replies.length === 0) count('bytes', 'closed')
      })
    },
    counts,
    sent: () => sent,
    restored: () => restored,
    close() {
      for (const wire of [...open.api, ...open.account]) wire.close()
    },
  }
}
