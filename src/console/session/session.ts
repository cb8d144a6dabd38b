/**
 * The session of this tab: the exchange of the code that `countersignd open` put into the address,
 * requests with a proof of the key, and the end of the session.
 */
import { signal, type ReadonlySignal } from '@preact/signals'
import { newProofKey, proofOf } from './proof.ts'
import { deleteStoredSession, storeTabSession, storedSession, type StoredSession } from './store.ts'

/**
 * - `starting`: the tab looks for a code or a stored session
 * - `absent`: there is neither
 * - `refused`: the daemon did not accept the code
 * - `unsupported`: the browser cannot make an Ed25519 key
 * - `away`: the daemon did not answer the exchange of the code
 * - `open`: requests can be sent
 * - `locked`: the user locked the console
 * - `idle`: locked, because there was no input for a long time
 * - `ended`: the token expired or was revoked
 */
type SessionState =
  'starting' | 'absent' | 'refused' | 'unsupported' | 'away' | 'open' | 'locked' | 'idle' | 'ended'

const stateNow = signal<SessionState>('starting')
const scopeNow = signal<StoredSession['scope']>('read')
const fullUntilNow = signal<string | null>(null)

/** The state of the session. */
export const sessionState: ReadonlySignal<SessionState> = stateNow
/** The scope of the session. `full` becomes `write` after some minutes. */
export const sessionScope: ReadonlySignal<StoredSession['scope']> = scopeNow
/** Until when the scope is `full`, by the clock of the daemon; null if it is not limited. */
export const sessionFullUntil: ReadonlySignal<string | null> = fullUntilNow

/** The fragment of the address that `countersignd open` opens. */
const CODE = /^#k=([\w-]+)$/

/** How long a tab without input keeps its session, in milliseconds. */
const IDLE_MS = 30 * 60_000

let current: { readonly session: StoredSession; readonly key: CryptoKeyPair } | null = null
/** The newest nonce of the daemon (RFC 9449 section 8). */
let nonce: string | null = null

/** Returns the id of this tab's token; null without a session. */
export const sessionTokenId = (): string | null => current?.session.id ?? null

/** Returns the time of the daemon, Unix milliseconds. */
export const daemonNow = (): number => Date.now() + (current?.session.ahead ?? 0)

/** Removes and returns the code from the address, so that neither history nor a copy has it. */
function takeCode(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null
  if (code !== null) history.replaceState(null, '', '/')
  return code
}

interface Exchanged {
  readonly id: string
  readonly token: string
  readonly scope: StoredSession['scope']
  readonly full_until: string | null
  readonly now: string
}

const EXCHANGE = '/console/v1/session'

/** Sends the code with a proof. `at`: Unix seconds, by the clock of the daemon. */
async function sendCode(code: string, key: CryptoKeyPair, at: number): Promise<Response> {
  const url = location.origin + EXCHANGE
  const answer = await fetch(EXCHANGE, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      DPoP: await proofOf(key, { method: 'POST', url, at, token: null, nonce }),
    },
    body: JSON.stringify({ code }),
  })
  nonce = answer.headers.get('DPoP-Nonce') ?? nonce
  return answer
}

const seconds = (ms: number) => Math.floor(ms / 1000)

async function exchange(code: string): Promise<void> {
  const key = await newProofKey().catch(() => null)
  if (key === null) {
    stateNow.value = 'unsupported'
    return
  }
  const first = await sendCode(code, key, seconds(Date.now()))
  // The answer to the first attempt has the nonce, and the time of the daemon: the clock of this
  // browser may be wrong.
  const date = Date.parse(first.headers.get('Date') ?? '')
  const answer =
    first.status === 401
      ? await sendCode(code, key, seconds(Number.isNaN(date) ? Date.now() : date))
      : first
  if (!answer.ok) {
    stateNow.value = 'refused'
    return
  }
  const { id, token, scope, full_until, now } = (await answer.json()) as Exchanged
  const session = { id, token, scope, fullUntil: full_until, ahead: Date.parse(now) - Date.now() }
  await storeTabSession(session, key)
  openSession({ session, key })
}

function openSession(opened: NonNullable<typeof current>): void {
  current = opened
  const { scope, fullUntil } = opened.session
  fullUntilNow.value = fullUntil
  const left = fullUntil === null ? null : Date.parse(fullUntil) - daemonNow()
  scopeNow.value = left !== null && left <= 0 ? 'write' : scope
  if (left !== null && left > 0)
    setTimeout(() => {
      if (current === opened) scopeNow.value = 'write'
    }, left)
  stateNow.value = 'open'
}

/** Signs this tab in, with the code in its address or the stored session. */
export async function startSession(): Promise<void> {
  const code = takeCode()
  try {
    if (code !== null) {
      await exchange(code)
      return
    }
    const stored = await storedSession()
    if (stored === null) stateNow.value = 'absent'
    else openSession(stored)
  } catch {
    stateNow.value = 'away'
  }
}

/** Ends the session in this tab, for this reason. */
async function endSession(reason: 'locked' | 'idle' | 'ended' | 'absent'): Promise<void> {
  current = null
  stateNow.value = reason
  await deleteStoredSession()
}

/**
 * Sends a request with the token and a proof. Ends the session if the daemon rejects the token.
 * @throws TypeError if the daemon does not answer
 */
export async function sendWithProof(request: Request): Promise<Response> {
  const used = current
  if (used === null) throw new TypeError('There is no session.')
  const repeated = request.clone()
  const answer = await sendOnce(request, used)
  if (answer.status !== 401) return answer
  const challenge = answer.headers.get('WWW-Authenticate') ?? ''
  const again = challenge.includes('use_dpop_nonce') ? await sendOnce(repeated, used) : answer
  if (again.status === 401 && current === used) await endSession('ended')
  return again
}

async function sendOnce(
  request: Request,
  { session, key }: NonNullable<typeof current>,
): Promise<Response> {
  const proof = await proofOf(key, {
    method: request.method,
    url: request.url.replace(/[?#].*/, ''),
    at: seconds(Date.now() + session.ahead),
    token: session.token,
    nonce,
  })
  request.headers.set('Authorization', `DPoP ${session.token}`)
  request.headers.set('DPoP', proof)
  const answer = await fetch(request)
  nonce = answer.headers.get('DPoP-Nonce') ?? nonce
  return answer
}

/** Revokes the token of this tab and ends its session. */
export async function lockSession(reason: 'locked' | 'idle' | 'absent'): Promise<void> {
  const revoking = new Request(EXCHANGE, { method: 'DELETE' })
  // A daemon that does not answer ends the token itself, because it is not used any more.
  await sendWithProof(revoking).catch(() => undefined)
  await endSession(reason)
}

/** Locks the session after a time without input. */
export function lockWhenIdle(): void {
  let timer = 0
  const restart = () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => {
      if (stateNow.value === 'open') void lockSession('idle')
    }, IDLE_MS)
  }
  for (const type of ['pointerdown', 'keydown']) addEventListener(type, restart, { passive: true })
  restart()
}
