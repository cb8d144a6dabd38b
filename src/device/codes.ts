/**
 * The index of codes: every connection and active guest code this device knows, with the reader of its words. It answers
 * "what do I say" and "whose words are these". Up to ten thousand subjects a scan of all of them takes a few milliseconds.
 */
import { timeAt } from '../api/fields.ts'
import type { Match } from '../api/rest/verify.ts'
import { LABEL, PERIOD_S, ZERO_HEAD, codeKey, codeReader, windowOf } from '../crypto/code.ts'
import { PREFIX, parseId } from '../crypto/id.ts'
import { wordsAt } from '../crypto/words.ts'
import { AppError } from '../errors.ts'
import type { ConnectionRow } from '../state/connections.ts'
import type { GuestRow } from '../state/guests.ts'
import type { State } from '../state/state.ts'
import type { Vault } from './vault.ts'

/** Codes of the minute before and after are accepted: two clocks differ, and speaking takes time. */
const DRIFT = [-1, 0, 1] as const

interface Speaker {
  readonly id: string
  readonly bytes: Uint8Array
  readonly self: boolean
  readonly name: string
}

interface Subject {
  readonly kind: 'connection' | 'guest'
  readonly id: string
  readonly name: string
  readonly bytes: Uint8Array
  readonly epoch: number
  readonly head: Uint8Array
  readonly speakers: readonly Speaker[]
  /** Unix milliseconds; null for a connection, which does not end by itself. */
  readonly expiresAt: number | null
  read: ReturnType<typeof codeReader> | null
  said: { readonly window: number; readonly code: ConnectionCode } | null
}

/** One's own words of a window, as they go over the wire. */
export interface OwnCode {
  readonly words: string
  readonly period_s: typeof PERIOD_S
  readonly valid_from: string
  readonly valid_until: string
}

export interface ConnectionCode extends OwnCode {
  readonly connection_id: string
}

/** A match, with the key under which it may be used once. */
export interface Hit {
  readonly match: Match
  readonly use: { subject: string; epoch: number; speaker: string; window: number }
}

export interface Codes {
  putConnection(row: ConnectionRow): void
  putGuest(row: GuestRow): void
  remove(id: string): void
  /** Connections and active guest codes known here. */
  count(now: number): { connections: number; all: number }
  has(id: string): boolean
  /** The own words for a guest code or on a connection now; null when it, or its secret, is not here. */
  own(id: string, now: number): OwnCode | null
  /** The same of a connection, with its id; null for anything that is none. */
  toSay(connection: string, now: number): ConnectionCode | null
  /** Everybody whose words these are, and how many subjects could and could not be checked. */
  find(indices: readonly number[], now: number): { hits: Hit[]; checked: number; unchecked: number }
}

/** Build the index from the state. `account` is the own account id. */
export function openCodes(state: State, vault: Vault, account: string): Codes {
  const subjects = new Map<string, Subject>()
  const self = { id: account, bytes: parseId(PREFIX.account, account), self: true }

  function putConnection({ id, name, epoch, head, members }: ConnectionRow): void {
    subjects.set(id, {
      kind: 'connection',
      id,
      name,
      bytes: parseId(PREFIX.connection, id),
      epoch,
      head,
      speakers: members.map(({ user_id, display_name }) => ({
        id: user_id,
        bytes: parseId(PREFIX.account, user_id),
        self: user_id === account,
        name: display_name,
      })),
      expiresAt: null,
      read: null,
      said: null,
    })
  }

  function putGuest({ id, label, state: at, expires_at }: GuestRow): void {
    if (at !== 'active') {
      subjects.delete(id)
      return
    }
    const bytes = parseId(PREFIX.guest, id)
    subjects.set(id, {
      kind: 'guest',
      id,
      name: label,
      bytes,
      epoch: 1,
      head: ZERO_HEAD,
      speakers: [
        { id, bytes, self: false, name: label },
        { ...self, name: label },
      ],
      expiresAt: expires_at,
      read: null,
      said: null,
    })
  }

  for (const row of state.connections.all()) putConnection(row)
  for (const row of state.guests.all()) putGuest(row)

  /** A record that is damaged is a secret that is not here: it must not keep the others from being checked. */
  function secretOf(id: string): Uint8Array | null {
    try {
      return vault.get(id)
    } catch (error) {
      if (error instanceof AppError && error.code === 'secret_unavailable') return null
      throw error
    }
  }

  function readerOf(subject: Subject): ReturnType<typeof codeReader> | null {
    if (subject.read !== null) return subject.read
    const key = secretOf(subject.id)
    if (key === null) return null
    const { bytes, epoch, head } = subject
    subject.read = codeReader(
      codeKey({ label: LABEL[subject.kind], key, subject: bytes, epoch, head }),
    )
    key.fill(0)
    return subject.read
  }

  /** The own code of a subject, the same object as long as its window lasts; null without its secret. */
  function codeOf(subject: Subject, now: number): ConnectionCode | null {
    const window = windowOf(now)
    if (subject.said?.window === window) return subject.said.code
    const read = readerOf(subject)
    if (read === null) return null
    const from = window * PERIOD_S * 1000
    const code = Object.freeze({
      connection_id: subject.id,
      words: wordsAt(read(window, self.bytes)).join(' '),
      period_s: PERIOD_S,
      valid_from: timeAt(from),
      valid_until: timeAt(from + PERIOD_S * 1000),
    })
    subject.said = { window, code }
    return code
  }

  const isLive = ({ expiresAt }: Subject, now: number) => expiresAt === null || expiresAt > now

  function matchOf(subject: Subject, speaker: Speaker, window: number): Hit {
    const { kind, id, name, epoch } = subject
    const named =
      kind === 'guest'
        ? { guest_code_id: id }
        : { connection_id: id, connection_name: name, member_id: speaker.id }
    return {
      match: {
        kind,
        speaker: speaker.self ? 'self' : 'other',
        ...named,
        display_name: speaker.name,
        window,
      },
      use: { subject: id, epoch, speaker: speaker.id, window },
    }
  }

  return {
    putConnection,
    putGuest,
    remove: (id) => void subjects.delete(id),
    has: (id) => subjects.has(id),

    count(now) {
      const live = [...subjects.values()].filter((subject) => isLive(subject, now))
      return {
        connections: live.filter(({ kind }) => kind === 'connection').length,
        all: live.length,
      }
    },

    own(id, now) {
      const subject = subjects.get(id)
      const code = subject === undefined ? null : codeOf(subject, now)
      if (code === null) return null
      const { connection_id: _, ...own } = code
      return own
    },

    toSay(connection, now) {
      const subject = subjects.get(connection)
      return subject?.kind === 'connection' ? codeOf(subject, now) : null
    },

    find([a, b, c], now) {
      const current = windowOf(now)
      const hits: Hit[] = []
      let checked = 0
      let unchecked = 0
      for (const subject of subjects.values()) {
        if (!isLive(subject, now)) continue
        const read = readerOf(subject)
        if (read === null) {
          unchecked++
          continue
        }
        checked++
        for (const speaker of subject.speakers)
          for (const drift of DRIFT) {
            const [x, y, z] = read(current + drift, speaker.bytes)
            if (x === a && y === b && z === c) hits.push(matchOf(subject, speaker, current + drift))
          }
      }
      return { hits, checked, unchecked }
    },
  }
}
