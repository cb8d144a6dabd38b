/**
 * Writes to a daemon, several at once, until it is killed; the ledger records the acknowledged
 * writes.
 */
import { generateKeyPairSync } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Json, caller } from '../e2e/caller.ts'
import { linkOf, minuteOf, wordsFrom } from '../e2e/peer.ts'
import type { Chance } from './chance.ts'
import { KINDS, type Kind, type Ledger, type Stage, type Thing, keyedConnection } from './ledger.ts'

/** The number of simultaneous writes. */
export const AT_ONCE = 8
/** The longest delay of a kill, so that it hits a write as often as a pause between two. */
const LATER_MS = 12

const LOCALES = ['de', 'fr', 'it', 'en', 'rm']
/** From this many things on, one is deleted for each that is created. */
const MANY = 30

export interface Writing {
  readonly stage: Stage
  readonly ledger: Ledger
  readonly chance: Chance
  /** The organisation of the machine accounts; null if none are created. */
  readonly organisation: string | null
  /** Returns another number each time. */
  readonly next: () => number
}

type Write = (of: Writing) => Promise<unknown>

const callOf = ({ stage: { address, token } }: Writing) => caller(address, token)

const BODIES: Readonly<Record<Kind, (n: number) => Json>> = {
  tokens: (n) => ({ name: `t${n}`, scope: 'read' }),
  guests: (n) => ({ label: `g${n}` }),
  connections: (n) => ({ name: `c${n}` }),
  tags: (n) => ({ name: `t${n}` }),
  members: (n) => ({ display_name: `m${n}` }),
}

const making =
  (kind: Kind): Write =>
  async (of) => {
    const body = BODIES[kind](of.next())
    const made = await callOf(of)(`POST ${KINDS[kind]}`, body)
    const names = [body.name ?? body.display_name ?? body.label]
    of.ledger.things[kind].push({ id: made.id, made, fate: 'there', names, changing: false })
  }

const living = ({ ledger }: Writing, kind: Kind): Thing[] =>
  ledger.things[kind].filter(({ fate, changing }) => fate === 'there' && !changing)

const ending =
  (kind: Kind): Write =>
  async (of) => {
    const thing = of.chance.of(living(of, kind))
    if (thing === undefined) return
    thing.fate = 'open'
    await callOf(of)(`DELETE ${KINDS[kind]}/${thing.id}`)
    thing.fate = 'gone'
  }

const makingOrEnding =
  (kind: Kind): Write =>
  async (of) => {
    const ends = of.chance.below(MANY) < living(of, kind).length
    await (ends ? ending(kind) : making(kind))(of)
  }

/**
 * No other write may delete or change the same thing meanwhile: the answers would not show their
 * order.
 */
const renaming =
  (kind: 'connections' | 'tags'): Write =>
  async (of) => {
    const thing = of.chance.of(living(of, kind))
    if (thing === undefined) return
    const name = `renamed ${of.next()}`
    thing.names.push(name)
    thing.changing = true
    await callOf(of)(`PATCH ${KINDS[kind]}/${thing.id}`, { name })
    thing.names = [name]
    thing.changing = false
  }

const stamping: Write = async (of) => {
  const asked = `content ${of.next()}`
  of.ledger.stamps.push({
    asked,
    answer: await callOf(of)('POST /api/v1/stamp', { content: asked }),
  })
}

/** Verifies the words of a guest, as the guest’s page shows them. */
const verifying: Write = async (of) => {
  const call = callOf(of)
  const made = await call('POST /api/v1/guest-codes', { label: `v${of.next()}` })
  of.ledger.things.guests.push({ id: made.id, made, fate: 'there', names: [], changing: false })
  const { id, k } = linkOf(made.url)
  const window = minuteOf(made.code.valid_from)
  const asked = wordsFrom({ label: 'guest', k, subject: id, speaker: id, window })
  const answer = await call('POST /api/v1/verify', { words: asked })
  if (answer.verified) of.ledger.verifications.push({ asked, answer })
}

const preferring: Write = async (of) => {
  const { ledger, chance } = of
  // One at a time, for the same reason.
  if (ledger.locales.length > 1) return
  const locale = chance.of(LOCALES)
  ledger.locales.push(locale)
  await callOf(of)('PATCH /api/v1/preferences', { locale })
  ledger.locales = [locale]
}

const keyed: Write = async ({ stage, ledger, next }) => {
  const key = `key-${next()}`
  ledger.keyed.set(key, null)
  ledger.keyed.set(key, await keyedConnection(stage, key))
}

const employing: Write = async ({ stage, ledger, organisation, next }) => {
  if (organisation === null) return
  const { kty, crv, x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const body = { organisation_id: organisation, name: `m${next()}`, key: { kty, crv, x } }
  const { account_id } = await caller(stage.address, stage.owner)('POST /local/v1/machines', body)
  ledger.machines.push({ body, account: account_id })
}

/** One write for each kind of thing that a daemon stores. */
export const WRITES_OF_THINGS: readonly Write[] = [
  ...(Object.keys(KINDS) as Kind[]).map(making),
  stamping,
  verifying,
  keyed,
]

const WRITES: readonly Write[] = [
  ...(Object.keys(KINDS) as Kind[]).map(makingOrEnding),
  makingOrEnding('tokens'),
  makingOrEnding('guests'),
  makingOrEnding('connections'),
  renaming('connections'),
  renaming('tags'),
  stamping,
  verifying,
  preferring,
  keyed,
  employing,
  (of) => callOf(of)('POST /api/v1/sync'),
]

/**
 * Writes, several at once, until the daemon is killed.
 * @param acknowledged called at each answer
 * @param dying whether a failed write is the daemon’s death, not a fault
 */
async function write(of: Writing, acknowledged: () => void, dying: () => boolean): Promise<void> {
  async function one(): Promise<void> {
    while (!dying())
      try {
        await of.chance.of(WRITES)(of)
        acknowledged()
      } catch (error) {
        if (dying()) return
        throw error
      }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

/**
 * Writes until a random moment, and kills the daemon then; returns the number of acknowledged
 * writes.
 */
export async function writeUntil(of: Writing, end: () => Promise<unknown>): Promise<number> {
  const count = 1 + of.chance.below(60)
  const later = of.chance.below(LATER_MS)
  let [done, dying] = [0, false]
  let ended: Promise<unknown> | undefined
  const kill = async () => {
    await setTimeout(later)
    dying = true
    await end()
  }
  await write(
    of,
    () => {
      if (++done === count) ended = kill()
    },
    () => dying,
  )
  await ended
  return done
}
