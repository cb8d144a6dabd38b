/**
 * Runs every attack at every route concerned, judges each answer, and sends honest requests in
 * between.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { RawAnswer } from '../http/raw.ts'
import {
  type Attack,
  type Drill,
  PAGE_PATH,
  ROWS,
  type Row,
  answerText,
  isOverSocket,
} from './attack.ts'
import { CANARY } from './methods.ts'
import { type Listener, type Target, nameOf } from './routes.ts'
import type { Scene } from './scene.ts'
import { type Received, type Shot, isWell, single, volley } from './wire.ts'

/** A wrong answer. */
export interface Fault {
  readonly row: Row
  readonly attack: string
  readonly target: string
  readonly sent: string
  readonly got: string
  readonly why: string
}

export interface Result {
  readonly row: Row
  sent: number
  /** One of its shots, shortened. */
  example: string
  /** The answers, each with its count. */
  readonly answers: Map<string, number>
  /** The routes that were attacked. */
  readonly targets: Set<string>
  readonly faults: Fault[]
}

export type Report = ReadonlyMap<Row, Result>

/** An attack, and the routes that it will be tried at. */
export interface Planned {
  readonly attack: Attack
  readonly targets: readonly Target[]
  /** The approximate number of shots at one route, a different part for each. */
  readonly most: number
}

/** Plans every attack at every route that it concerns. */
export const planAll = (attacks: readonly Attack[], targets: readonly Target[]): Planned[] =>
  attacks.map((attack) => ({
    attack,
    targets: targets.filter((target) => attack.on(target)),
    most: Infinity,
  }))

/**
 * The number of shots at one route in a partial run, for attacks with many: one for each tool or
 * method.
 */
const SOME = 12

/** Returns every n-th item, with another first item for each attack. */
function thinned<T>(all: readonly T[], most: number, from: number): readonly T[] {
  const step = Math.ceil(all.length / most)
  return step <= 1 ? all : all.filter((_, i) => (i + from) % step === 0)
}

/**
 * Plans a part of the attacks that is the same in each run: every `nth` route of each attack,
 * with another first route each time, so that all attacks and all routes have a turn.
 */
export const planSome = (
  attacks: readonly Attack[],
  targets: readonly Target[],
  nth: number,
): Planned[] =>
  planAll(attacks, targets).map(({ attack, targets: all }, i) => {
    const some = all.filter((_, j) => (i + j) % nth === 0)
    return { attack, targets: some.length === 0 ? all.slice(0, 1) : some, most: SOME }
  })

/** The number of shots on one connection. */
const VOLLEY = 40
/** The number of simultaneous connections. */
const AT_ONCE = 8

const NO_STORE = /^(no-store|public, max-age=\d+, immutable)$/

/** Returns the fault that makes an answer wrong for any request; null for none. */
function alwaysFault(
  { status, headers, body }: RawAnswer,
  secrets: readonly string[],
): string | null {
  const policy = headers['content-security-policy'] ?? ''
  const isError = status >= 400 && headers['content-type']?.startsWith('text/html') !== true
  const all = JSON.stringify(headers) + body
  const faults: [string, boolean][] = [
    ['it has no request id', !/^[\w-]+$/.test(headers['x-request-id'] ?? '')],
    ['its type may be guessed', headers['x-content-type-options'] !== 'nosniff'],
    ['it may be cached', !NO_STORE.test(headers['cache-control'] ?? '')],
    ['an error may be cached', status >= 400 && headers['cache-control'] !== 'no-store'],
    ['it may be framed', !policy.includes("frame-ancestors 'none'")],
    [
      'it may be read by other origins',
      Object.keys(headers).some((name) => name.startsWith('access-control-')),
    ],
    ['it sets a cookie', 'set-cookie' in headers],
    ['it changes the protocol', status < 200],
    ['the server failed', status >= 500],
    ['its error has another format', isError && body !== '' && !/^{("error"|"jsonrpc")/.test(body)],
    ['it returns a secret', secrets.some((secret) => all.includes(secret))],
    ['it returns the request', all.includes(CANARY)],
  ]
  return faults.find(([, is]) => is)?.[0] ?? null
}

/** A header of a browser. */
const BROWSER = /\r\n(?:origin|sec-fetch-site):/i

/**
 * Whether an answer is the one that a browser gets at a Unix socket, which can differ from the one
 * over TCP. Every request for the path of its page gets it too.
 */
const isRefusedBrowser = ({ target, shot }: Aimed, answer: string, scene: Scene): boolean =>
  isOverSocket(target, scene) &&
  // HEAD has no body for the error code.
  (answer === '403 origin_not_allowed' || (answer === '403' && shot.bytes.startsWith('HEAD '))) &&
  (BROWSER.test(shot.bytes) || target.pattern === PAGE_PATH)

/** Returns the fault of an answer; null for none. */
function faultIn(aimed: Aimed, received: Received, scene: Scene): string | null {
  const { shot } = aimed
  if (typeof received === 'string') return received
  const answer = answerText(received)
  const isRefused = isRefusedBrowser(aimed, answer, scene)
  if (!isRefused && !shot.want.test(answer)) return `wanted ${shot.want.source}`
  const fault = alwaysFault(received, scene.secrets)
  return fault ?? (isRefused ? null : (shot.check?.(received) ?? null))
}

/**
 * Returns the seconds after which a client may write again; null unless the shot met the limit of
 * writes.
 */
function writeAgainAfter(shot: Shot, received: Received): number | null {
  if (typeof received === 'string' || shot.want.test(answerText(received))) return null
  return received.status === 429 && received.body.includes('Too many writes')
    ? Number(received.headers['retry-after'])
    : null
}

/**
 * Sends a shot on a connection of its own. The table has more writes than a device may send in a
 * minute, so this function waits, as a client does, for the time that the server names.
 */
async function sendPatiently(address: string, shot: Shot): Promise<Received> {
  const sendOnce = async () =>
    shot.alone === true ? single(address, shot) : (await volley(address, [shot]))[0]!
  const first = await sendOnce()
  const seconds = writeAgainAfter(shot, first)
  if (seconds === null) return first
  await wait(seconds * 1000)
  return sendOnce()
}

const brief = (text: string, most: number) =>
  JSON.stringify(text.length > most ? `${text.slice(0, most)}…` : text)

interface Aimed {
  readonly target: Target
  readonly shot: Shot
}

/** Runs jobs, AT_ONCE of them at a time. */
async function pooled(jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const waiting = jobs.values()
  const work = async () => {
    for (const job of waiting) await job()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

const newResult = (row: Row): Result => ({
  row,
  sent: 0,
  example: '',
  answers: new Map(),
  targets: new Set(),
  faults: [],
})

/** Runs the planned shots of one attack. */
async function attackOnce(
  { attack, targets, most }: Planned,
  scene: Scene,
  result: Result,
  from: number,
): Promise<void> {
  const { row, name } = attack
  const aimed = (
    await Promise.all(
      targets.map(async (target): Promise<Aimed[]> =>
        thinned(await attack.shots(target, scene), most, from).map((shot) => ({ target, shot })),
      ),
    )
  ).flat()
  const note = (one: Aimed, received: Received) => {
    const { target, shot } = one
    const answer = typeof received === 'string' ? 'no answer' : answerText(received)
    result.sent++
    result.answers.set(answer, (result.answers.get(answer) ?? 0) + 1)
    result.targets.add(nameOf(target))
    if (result.example === '') result.example = brief(`${name}: ${shot.bytes}`, 160)
    const why = faultIn(one, received, scene)
    if (why === null) return
    const got = typeof received === 'string' ? received : `${answer} ${received.body}`
    result.faults.push({
      row,
      attack: name,
      target: nameOf(target),
      sent: brief(shot.bytes, 600),
      got: brief(got, 300),
      why,
    })
  }
  const jobs: (() => Promise<void>)[] = []
  for (const listener of ['api', 'account'] as const satisfies Listener[]) {
    const { address } = scene.at[listener]
    const here = aimed.filter(({ target }) => target.listener === listener)
    for (const one of here.filter(({ shot }) => shot.alone === true))
      jobs.push(async () => note(one, await sendPatiently(address, one.shot)))
    const together = here.filter(({ shot }) => shot.alone !== true)
    for (let i = 0; i < together.length; i += VOLLEY) {
      const some = together.slice(i, i + VOLLEY)
      jobs.push(async () => {
        const received = await volley(
          address,
          some.map(({ shot }) => shot),
        )
        for (const [at, one] of some.entries()) {
          const limited = writeAgainAfter(one.shot, received[at]!) !== null
          note(one, limited ? await sendPatiently(address, one.shot) : received[at]!)
        }
      })
    }
  }
  await pooled(jobs)
}

async function drillOnce(drill: Drill, scene: Scene, result: Result): Promise<void> {
  const { row, name } = drill
  const { sent, answers, faults } = await drill.run(scene)
  result.sent += sent
  for (const [what, count] of answers)
    result.answers.set(what, (result.answers.get(what) ?? 0) + count)
  if (result.example === '') result.example = brief(name, 160)
  for (const why of faults)
    result.faults.push({ row, attack: name, target: '', sent: name, got: '', why })
}

/**
 * Runs a plan, row by row. After each row, honest requests must succeed and the account must be
 * unchanged.
 * @param reported called with the result of each row
 */
export async function run(
  scene: Scene,
  planned: readonly Planned[],
  drills: readonly Drill[],
  reported: (result: Result) => void = () => undefined,
): Promise<Report> {
  const report = new Map<Row, Result>()
  let before = await scene.state()
  for (const row of ROWS) {
    const result = newResult(row)
    for (const [i, one] of planned.entries())
      if (one.attack.row === row) await attackOnce(one, scene, result, i)
    for (const drill of drills) if (drill.row === row) await drillOnce(drill, scene, result)
    const fault = (why: string, got = '') =>
      result.faults.push({ row, attack: 'afterwards', target: '', sent: '', got, why })
    for (const { address } of Object.values(scene.at)) {
      const ill = await isWell(address)
      if (ill !== null) fault(ill)
    }
    const after = await scene.state()
    if (after !== before) fault('the account is not as it was', changes(before, after))
    before = after
    report.set(row, result)
    reported(result)
  }
  return report
}

/** Returns the first lines in which two states differ. */
function changes(before: string, after: string): string {
  const were = before.split('\n')
  const lines = after
    .split('\n')
    .flatMap((line, i) => (line === were[i] ? [] : [`${were[i]} → ${line}`]))
  return lines.slice(0, 3).join('\n').slice(0, 2000)
}
