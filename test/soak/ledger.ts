/**
 * The writes that a daemon acknowledged over several runs. A write in progress when the daemon
 * died may have happened or not; no other write may be uncertain.
 */
import assert from 'node:assert/strict'
import { verifyStamp } from '../../src/crypto/stamp.ts'
import { type Json, ask, caller, keyedWrite, listed } from '../e2e/caller.ts'
import { linkOf, minuteOf, wordsFrom } from '../e2e/peer.ts'

/** A thing that was created and is listed. */
export interface Thing {
  readonly id: string
  /** The answer that acknowledged its creation. */
  readonly made: Json
  /** `open`: its deletion was requested, and the answer was lost. */
  fate: 'there' | 'gone' | 'open'
  /** The possible names: one, or two if a change was not answered. */
  names: string[]
  /** Whether its name is being changed, or was when the daemon died. */
  changing: boolean
}

export const KINDS = {
  tokens: '/api/v1/api-tokens',
  guests: '/api/v1/guest-codes',
  connections: '/api/v1/connections',
  tags: '/api/v1/tags',
  members: '/api/v1/external-members',
} as const
export type Kind = keyof typeof KINDS

/** A stamp or a verification that was answered: it is never deleted. */
interface Done {
  readonly answer: Json
  readonly asked: string
}

export interface Ledger {
  readonly things: Readonly<Record<Kind, Thing[]>>
  readonly stamps: Done[]
  readonly verifications: Done[]
  /** Machine accounts with the key of each. */
  readonly machines: { readonly body: Json; readonly account: string }[]
  /** Connections by Idempotency-Key; null for one that was not answered. */
  readonly keyed: Map<string, string | null>
  /** The possible values of the locale. */
  locales: string[]
}

export const newLedger = (): Ledger => ({
  things: { tokens: [], guests: [], connections: [], tags: [], members: [] },
  stamps: [],
  verifications: [],
  machines: [],
  keyed: new Map(),
  locales: ['en'],
})

/** A running daemon, and a valid token. */
export interface Stage {
  readonly address: string
  readonly accountAddress: string
  readonly token: string
  /** The token of the command line. */
  readonly owner: string
}

type Call = ReturnType<typeof caller>

/** Creates a connection under a key, as often as necessary. */
export async function keyedConnection({ address, token }: Stage, key: string): Promise<string> {
  const write = keyedWrite(token, key, { name: key })
  const answer = await fetch(`${address}/api/v1/connections`, write)
  const body = (await answer.json()) as { id: string }
  assert.equal(answer.status, 201, JSON.stringify(body))
  return body.id
}

async function checkTokens(stage: Stage, things: readonly Thing[], found: Map<string, Json>) {
  for (const { id, made, fate } of things) {
    const { state } = found.get(id) ?? assert.fail(`token ${id} is lost`)
    const { status } = await ask(stage.address, made.token, 'GET /api/v1/status')
    assert.equal(status, state === 'active' ? 200 : 401, id)
    if (fate !== 'open') assert.equal(state, fate === 'there' ? 'active' : 'revoked', id)
  }
}

/**
 * Checks that a guest code has its secret as long as it is valid, with the words of the issued
 * link.
 */
function checkGuests(user: string, things: readonly Thing[], found: Map<string, Json>) {
  for (const { id, state, secret_here } of found.values())
    assert.equal(secret_here, state === 'active', `${id} is ${state}`)
  for (const { id, made, fate } of things) {
    const { state, code } = found.get(id) ?? assert.fail(`guest code ${id} is lost`)
    if (fate !== 'open') assert.equal(state, fate === 'there' ? 'active' : 'revoked', id)
    if (state !== 'active') continue
    const { k } = linkOf(made.url)
    const window = minuteOf(code.valid_from)
    assert.equal(
      code.words,
      wordsFrom({ label: 'guest', k, subject: id, speaker: user, window }),
      id,
    )
  }
}

function checkNamed(kind: Kind, things: readonly Thing[], found: Map<string, Json>) {
  for (const { id, fate, names } of things) {
    const item = found.get(id)
    if (fate !== 'open') assert.equal(item !== undefined, fate === 'there', `${kind} ${id}`)
    if (item !== undefined) assert(names.includes(item.name ?? item.display_name), `${kind} ${id}`)
  }
}

async function checkConnections(call: Call, found: Map<string, Json>) {
  for (const { id, secret_here } of found.values()) {
    assert.equal(secret_here, true, id)
    assert.match((await call(`GET /api/v1/connections/${id}/code`)).words, /^[a-z]+ [a-z]+ [a-z]+$/)
  }
}

async function checkStamps({ accountAddress }: Stage, stamps: readonly Done[]) {
  for (const { answer, asked } of stamps) {
    const { stamp, key_log, id, words } = answer
    const facts = verifyStamp({ stamp, key_log }, { content: Buffer.from(asked) })
    assert.equal(facts.words.join(' '), words)
    const page = await fetch(`${accountAddress}/s/${id}`)
    assert.equal(page.status, 200, id)
    await page.arrayBuffer()
  }
}

async function checkVerifications(call: Call, done: readonly Done[]) {
  const logged = new Map((await listed(call, '/api/v1/verification-log')).map((it) => [it.at, it]))
  for (const { answer, asked } of done) {
    assert.equal(logged.get(answer.checked_at)?.outcome, 'verified')
    const again = await call('POST /api/v1/verify', { words: asked })
    assert.equal(again.verified, false, 'words prove once')
  }
}

/**
 * Asserts that every acknowledged write is there, completely; the daemon has synced since its
 * start.
 */
export async function check(stage: Stage, ledger: Ledger): Promise<void> {
  const call = caller(stage.address, stage.token)
  const { user } = await call('GET /api/v1/context')
  for (const [key, id] of ledger.keyed) {
    const repeated = await keyedConnection(stage, key)
    assert.equal(repeated, id ?? repeated, key)
    ledger.keyed.set(key, repeated)
  }
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const found = new Map((await listed(call, KINDS[kind])).map((it) => [it.id as string, it]))
    const things = ledger.things[kind]
    if (kind === 'tokens') await checkTokens(stage, things, found)
    else if (kind === 'guests') checkGuests(user.id, things, found)
    else checkNamed(kind, things, found)
    if (kind === 'connections') {
      await checkConnections(call, found)
      const named = [...found.values()].filter(({ name }) => ledger.keyed.has(name))
      assert.equal(named.length, ledger.keyed.size, 'one connection for each key')
    }
  }
  for (const { body, account } of ledger.machines)
    assert.equal(
      (await caller(stage.address, stage.owner)('POST /local/v1/machines', body)).account_id,
      account,
    )
  await checkStamps(stage, ledger.stamps)
  // Once: two minutes later the words have expired anyway.
  await checkVerifications(call, ledger.verifications.splice(0))
  const { locale } = await call('GET /api/v1/preferences')
  assert(ledger.locales.includes(locale), `${locale}, not ${ledger.locales.join(' or ')}`)
}
