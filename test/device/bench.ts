/**
 * A device fixture: its state on disk and a keychain in memory.
 * The test controls its clock and its freshness.
 */
import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { ClockState } from '../../src/device/codes/clock.ts'
import type { Pace } from '../../src/device/codes/code-schedule.ts'
import { ID_PREFIX, formatId } from '../../src/crypto/encoding/id.ts'
import { parseWords } from '../../src/crypto/words.ts'
import { newChallenges, type Challenges } from '../../src/device/codes/challenges.ts'
import { openCodes, type Codes } from '../../src/device/codes/codes.ts'
import { newGuesses } from '../../src/device/codes/rate-limit.ts'
import { openVault, type Vault } from '../../src/device/identity/vault.ts'
import { newVerifier, type Verifier } from '../../src/device/codes/verifier.ts'
import { AppError } from '../../src/errors.ts'
import type { Hold } from '../../src/state/connections.ts'
import { openState, type State } from '../../src/state/state.ts'
import { answerFrom, wordsFrom } from '../e2e/peer.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'

export const MINUTE = 60_000
export const DAY = 24 * 60 * MINUTE
export const HOUR = 3600 * 1000
/** The window of the vectors in protocol section 2, twelve seconds in. */
export const W0 = 29_453_760
export const T0 = W0 * MINUTE + 12_000

const id = (prefix: string, digit: string) => `${prefix}_0${digit.repeat(25)}`
export const ME = id('acc', 'a')
export const BOB = id('acc', 'b')
export const CAROL = id('acc', 'c')
export const CONNECTION = id('con', '1')
export const GUEST = id('gst', '2')

/** Returns 32 bytes derived from a name. */
export const keyOf = (name: string): Buffer => createHash('sha256').update(name).digest()

interface Parts {
  readonly state?: State
  readonly pace?: Pace
}

export interface Bench {
  readonly state: State
  readonly vault: Vault
  readonly codes: Codes
  readonly verifier: Verifier
  readonly challenges: Challenges
  readonly clock: { ms: number }
  /** The uptime of the machine and its boot id. */
  readonly machine: { uptime: number; boot: string | null }
  /** Advances both clocks. */
  readonly pass: (ms: number) => void
  readonly freshness: {
    offset: number | null
    lastSync: number | null
    clock: ClockState
    /** Runs when the device syncs for an answer. */
    refresh: () => unknown
  }
  /** Adds a connection of the own account with Bob, or with other accounts. */
  readonly connection: (of?: {
    id?: string
    name?: string
    others?: readonly string[]
    epoch?: number
    hold?: Hold | null
  }) => string
  /** Adds a guest code. */
  readonly guest: (of?: {
    id?: string
    label?: string
    k?: Uint8Array
    expiresAt?: number
    externalMember?: { id: string; display_name: string } | null
  }) => string
  /** Returns the words of a speaker on a subject of this fixture in a window. */
  readonly say: (subject: string, speaker: string, window?: number) => string
  /**
   * Returns the words of a speaker on a connection of this fixture for a listener’s challenge.
   */
  readonly answer: (of: {
    speaker: string
    challenge: string
    purpose?: string
    listener?: string
    connection?: string
    window?: number
  }) => string
  /** Returns the same device after a restart, with some parts replaced. */
  readonly reopen: (parts?: Parts) => Bench
  /** Whether this device has signed out. */
  readonly session: { left: boolean }
}

const HEAD = keyOf('head')

export function bench(t: TestContext, first: Parts = {}): Bench {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const keychain = memoryKeychain()
  const clock = { ms: T0 }
  const machine: Bench['machine'] = { uptime: DAY, boot: 'boot 1' }
  function pass(ms: number): void {
    clock.ms += ms
    machine.uptime += ms
  }
  const freshness: Bench['freshness'] = {
    offset: 0,
    lastSync: T0,
    clock: 'steady',
    refresh: () => undefined,
  }
  const session = { left: false }
  const epochs = new Map<string, number>()
  const keys = new Map<string, Uint8Array>()

  function open(parts: Parts = {}): Bench {
    const used = parts.state ?? state
    const vault = openVault(keychain, used.secrets)
    const codes = openCodes(used, vault, ME, parts.pace)
    const uptime = { exact: () => machine.uptime, recent: () => machine.uptime }
    const { boot } = machine
    const challenges = newChallenges({ state: used, now: () => clock.ms, uptime, boot })
    const verifier = newVerifier({
      state: used,
      codes,
      account: ME,
      now: () => clock.ms,
      guesses: newGuesses({ rows: used.wrongTries, uptime, boot }),
      challenges,
      ...(parts.pace === undefined ? {} : { pace: parts.pace }),
      freshness: {
        offsetMs: () => freshness.offset,
        lastSyncAt: () => freshness.lastSync,
        refresh: async () => void freshness.refresh(),
        clock: () => freshness.clock,
        noted: () => undefined,
      },
      requireSession() {
        if (session.left) throw new AppError('not_signed_in', 'This device signed out meanwhile.')
      },
    })
    const keep = (subject: string, k: Uint8Array) => {
      keys.set(subject, k)
      vault.put(subject, k)
    }
    return {
      state: used,
      vault,
      codes,
      verifier,
      challenges,
      clock,
      machine,
      pass,
      freshness,
      session,
      connection({
        id: subject = CONNECTION,
        name = 'Bank',
        others = [BOB],
        epoch = 1,
        hold = null,
      } = {}) {
        keep(subject, keyOf(`${subject} ${epoch}`))
        epochs.set(subject, epoch)
        const members = [ME, ...others].map((user_id) => ({
          user_id,
          display_name: nameOf(user_id),
        }))
        const row = { id: subject, name, epoch, head: HEAD, members, hold, updated_at: T0 }
        used.connections.put(row)
        // Names the contacts as a user does.
        for (const one of others) used.names.set(one, 'given', nameOf(one))
        codes.putConnection(row)
        return subject
      },
      guest({
        id: subject = GUEST,
        label = 'Ann',
        k = keyOf(subject),
        expiresAt = T0 + DAY,
        externalMember = null,
      } = {}) {
        keep(subject, k)
        const row = {
          id: subject,
          label,
          state: 'active' as const,
          expires_at: expiresAt,
          created_at: T0,
          external_member_id: externalMember?.id ?? null,
          external_member_name: externalMember?.display_name ?? null,
        }
        used.guests.put(row)
        codes.putGuest(row)
        return subject
      },
      say(subject, speaker, window = Math.floor(clock.ms / MINUTE)) {
        const k = keys.get(subject) as Uint8Array
        const epoch = epochs.get(subject)
        return epoch === undefined
          ? wordsFrom({ label: 'guest', k, subject, speaker, window })
          : wordsFrom({ label: 'code', k, subject, speaker, window, epoch, head: HEAD })
      },
      answer({ connection = CONNECTION, listener = ME, purpose = '', window, ...asked }) {
        return answerFrom({
          ...asked,
          listener,
          purpose,
          k: keys.get(connection) as Uint8Array,
          subject: connection,
          epoch: epochs.get(connection) as number,
          head: HEAD,
          window: window ?? Math.floor(clock.ms / MINUTE),
        })
      },
      reopen: open,
    }
  }
  return open(first)
}

export const nameOf = (account: string): string =>
  ({ [ME]: 'Me', [BOB]: 'Bob', [CAROL]: 'Carol' })[account] ?? account

/** Returns the id of a connection or a guest code with a number. */
export const numbered = (kind: 'connection' | 'guest', n: number): string =>
  formatId(ID_PREFIX[kind], keyOf(`${kind} ${n}`).subarray(0, 16))

/** Words of no speaker here. */
export const WRONG = 'matador carload recede'

/** Returns the indices that `find` accepts. */
export const indicesOf = (words: string): number[] => parseWords(words, 3).indices

/**
 * Returns a pace with a clock that advances at every reading, and with timers that never fire.
 * @param lookMs the advance of each reading, in milliseconds
 * @param between runs when the code under test yields
 */
export function slowPace(lookMs: number, between: () => void = () => undefined) {
  let elapsed = 0
  const count = { turns: 0, looks: 0, most: 0, timers: 0 }
  const pace: Pace = {
    elapsed() {
      count.most = Math.max(count.most, ++count.looks)
      return (elapsed += lookMs)
    },
    async turn() {
      count.turns++
      count.looks = 0
      between()
    },
    later: () => void count.timers++,
  }
  return { pace, count }
}
