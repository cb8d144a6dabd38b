/**
 * The own words for each connection and guest code, and the speakers of given words.
 *
 * Both are derived from the state on request. A module that changes the state must report the
 * change here.
 */
import { timeAt } from '../../api/fields.ts'
import type { Identified, Match } from '../../api/rest/verify.ts'
import { challengeReader } from '../../crypto/challenge.ts'
import { PERIOD_S, acceptedAt, codeOf, codeReader, windowOf } from '../../crypto/code.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import { wordsAt } from '../../crypto/words.ts'
import type { ConnectionRow } from '../../state/connections.ts'
import type { GuestRow } from '../../state/guests.ts'
import type { State } from '../../state/state.ts'
import { newCodeIndex, newIntake, type SpokenCode, type Tally } from './code-index.ts'
import { type Pace, REAL_PACE, type CodeSchedule, newCodeSchedule } from './code-schedule.ts'
import {
  type Answered,
  keyToCheck,
  type Lack,
  readCodeKey,
  readSubject,
  type Speaker,
  spokenBy,
  type Subject,
} from './code-subjects.ts'
import type { Expected } from './expected.ts'
import { dropOldKeys, formerWords } from './former-keys.ts'
import { guestName, nameOf } from '../names.ts'
import type { Vault } from '../identity/vault.ts'

/** The own words of a window, in the form of the API. */
interface OwnCode {
  readonly words: string
  readonly period_s: typeof PERIOD_S
  readonly valid_from: string
  readonly valid_until: string
}

interface ConnectionCode extends OwnCode {
  readonly connection_id: string
}

/** A challenge that a speaker answers, and the listener who gave it. */
interface AnsweredChallenge extends Answered {
  /** The account id of the listener. */
  readonly listener: string
}

/** A match, and the key under which its words can be used once. */
export interface Hit {
  readonly match: Identified
  readonly naming: Pick<Match, 'name_source' | 'name_marks'>
  readonly use: { subject: string; epoch: number; speaker: string; window: number }
  /** Whether an owner ended the connection, so that the words prove nothing. */
  readonly isEnded: boolean
}

/** A match with words of the epoch before a routine rotation. Such words prove nothing. */
export interface FormerHit extends Hit {
  /** When the epoch ended on this device, Unix milliseconds. */
  readonly changedAt: number
}

/** The speakers who have the words, and how many subjects could be checked. */
export interface SpeakerMatches extends Tally {
  readonly hits: Hit[]
}

export interface Codes {
  /**
   * Updates the words of a connection. Must be called after the connection was stored in the state,
   * or its secret in the vault, or both.
   */
  putConnection(row: Pick<ConnectionRow, 'id'>): void
  /** Like `putConnection`, for a guest code. */
  putGuest(row: Pick<GuestRow, 'id'>): void
  /**
   * Removes the words of a connection or guest code. Must be called when the subject is removed
   * from the state, or directly before.
   */
  remove(id: string): void
  /** Checks whether an id is a connection stored here or an active guest code. */
  has(id: string): boolean
  /**
   * Returns the current own words for a guest code or a connection.
   * @returns null if this device does not have the subject or its secret, or if the subject is
   *   suspended
   */
  own(id: string, now: number): OwnCode | null
  /** Like `own` for a connection, with its id. Returns null for a guest code. */
  toSay(connection: string, now: number): ConnectionCode | null
  /** Like `toSay`, but the words are for one listener who gave a challenge. */
  toListener(connection: string, asked: AnsweredChallenge, now: number): OwnCode | null
  /** Prepares `find`. Call it again after each wait until it returns null; `find` is then fast. */
  readonly ready: CodeSchedule['ready']
  /**
   * Returns the speakers who have three words, given as indices. Correct without `ready`, but
   * slower.
   */
  find(indices: readonly number[], now: number): SpeakerMatches
  /**
   * Like `find`, but checks only the expected speakers and the own account. Does not need `ready`.
   */
  findOf(expected: Expected, indices: readonly number[], now: number): SpeakerMatches
  /** Returns the ids of the connections for which the code key of the previous epoch is stored. */
  former(now: number): string[]
  /** Returns the other members of a connection who have these words in the previous epoch. */
  findFormer(connection: string, indices: readonly number[], now: number): FormerHit[]
}

/** A subject for which own words were requested. */
interface OwnSubject {
  readonly kind: Subject['kind']
  readonly read: ReturnType<typeof codeReader>
  latest: { readonly window: number; readonly code: ConnectionCode } | null
}

/** Whether the subject is a guest code that has expired. */
const isExpired = ({ expiresAt }: Subject, now: number): boolean =>
  expiresAt !== null && expiresAt <= now

/** Orders matches by subject, oldest first, so that a check has the same result after a restart. */
const bySubject = ({ use: { subject: a } }: Hit, { use: { subject: b } }: Hit) =>
  a < b ? -1 : a > b ? 1 : 0

/**
 * Opens the codes of a state.
 * @param account the own account id
 */
export function openCodes(
  state: State,
  vault: Vault,
  account: string,
  pace: Pace = REAL_PACE,
): Codes {
  const own = parseId(ID_PREFIX.account, account)
  const spoken = new Map<string, OwnSubject>()
  const index = newCodeIndex()
  const intake = newIntake({ state, vault, account, index })
  const schedule = newCodeSchedule({
    work: (windows, enough) => intake.work(enough) && index.prepare(windows, enough),
    codes: () => index.codes(),
    pace,
  })

  function changed(id: string): void {
    spoken.delete(id)
    intake.changed(id)
  }

  function spokenOf(id: string): OwnSubject | null {
    const known = spoken.get(id)
    if (known !== undefined) return known
    const subject = readSubject(state, account, id)
    if (subject === null || subject.hold !== null) return null
    const kc = readCodeKey(vault, subject)
    if (kc === null) return null
    const made = { kind: subject.kind, read: codeReader(kc), latest: null }
    kc.fill(0)
    spoken.set(id, made)
    return made
  }

  const validity = (window: number): Omit<OwnCode, 'words'> => ({
    period_s: PERIOD_S,
    valid_from: timeAt(window * PERIOD_S * 1000),
    valid_until: timeAt((window + 1) * PERIOD_S * 1000),
  })

  /** Returns a subject's own code. Returns the same object throughout a window. */
  function ownCode(id: string, of: OwnSubject, now: number): ConnectionCode {
    const window = windowOf(now)
    if (of.latest?.window === window) return of.latest.code
    const words = wordsAt(of.read(window, own)).join(' ')
    const code = Object.freeze({ connection_id: id, words, ...validity(window) })
    of.latest = { window, code }
    return code
  }

  /** Returns the match of a speaker, with names; null if the guest code has expired. */
  function hitOf({ id, speaker: bytes, window }: SpokenCode, now: number): Hit | null {
    const subject = readSubject(state, account, id)
    const speaker = subject?.speakers.find((one) => Buffer.from(one.bytes).equals(bytes))
    if (subject === null || speaker === undefined || isExpired(subject, now)) return null
    return hitBy(subject, speaker, window, null)
  }

  function hitBy(
    subject: Subject,
    speaker: Speaker,
    window: number,
    challenge: Answered | null,
  ): Hit {
    const { id, kind, name, epoch, externalMember, hold } = subject
    const naming = { state, own: account }
    const { display_name, ...sourced } =
      kind === 'guest' ? guestName(naming, name) : nameOf(naming, speaker.id, speaker.name)
    const named =
      kind === 'guest'
        ? { guest_code_id: id, external_member: externalMember }
        : { connection_id: id, connection_name: name, member_id: speaker.id }
    return {
      match: {
        kind,
        speaker: speaker.self ? 'self' : 'other',
        ...named,
        display_name,
        window,
      },
      naming: sourced,
      use: {
        // Each challenge word gives different words. Challenges with the same word share one use.
        subject: challenge === null ? id : `${id} ${challenge.word}`,
        epoch,
        speaker: speaker.id,
        window,
      },
      isEnded: hold === 'ended',
    }
  }

  /**
   * Returns the speakers who have these words in one connection or guest code. Checks the own
   * account and the expected member `user`; if `user` is null, all speakers.
   */
  function findIn(
    id: string,
    user: string | null,
    challenge: Answered | null,
    indices: readonly number[],
    now: number,
  ): { readonly hits: Hit[]; readonly isChecked: boolean; readonly lack: Lack | null } {
    const subject = readSubject(state, account, id)
    if (subject === null || isExpired(subject, now))
      return { hits: [], isChecked: false, lack: null }
    const { kc, lack } = keyToCheck(vault, subject)
    if (kc === null) return { hits: [], isChecked: false, lack }
    const { speakers: all } = subject
    const isExpected = ({ self, id: of }: Speaker) => self || user === null || of === user
    const of = { kc, all, speakers: all.filter(isExpected), challenge }
    const hits = spokenBy(of, indices, now).map(({ speaker, window }) =>
      hitBy(subject, speaker, window, challenge),
    )
    kc.fill(0)
    return { hits, isChecked: true, lack }
  }

  return {
    putConnection: ({ id }) => changed(id),
    putGuest: ({ id }) => changed(id),
    remove: changed,
    has: (id) => readSubject(state, account, id) !== null,
    ready: (now) => schedule.ready(now),

    own(id, now) {
      const of = spokenOf(id)
      if (of === null) return null
      const { connection_id: _, ...code } = ownCode(id, of, now)
      return code
    },

    toSay(connection, now) {
      const of = spokenOf(connection)
      return of?.kind === 'connection' ? ownCode(connection, of, now) : null
    },

    toListener(connection, { listener, word, purpose }, now) {
      const subject = readSubject(state, account, connection)
      if (subject === null || subject.kind !== 'connection' || subject.hold !== null) return null
      const kc = readCodeKey(vault, subject)
      if (kc === null) return null
      const window = windowOf(now)
      const indices = challengeReader(kc)({
        window,
        speaker: own,
        listener: parseId(ID_PREFIX.account, listener),
        challenge: word,
        purpose,
      })
      kc.fill(0)
      return { words: wordsAt(indices).join(' '), ...validity(window) }
    },

    findOf({ subjects, user, challenge }, indices, now) {
      const found = subjects.map((id) => findIn(id, user, challenge, indices, now))
      const lacks = found.map(({ lack }) => lack).filter((lack) => lack !== null)
      return {
        hits: found.flatMap(({ hits }) => hits).toSorted(bySubject),
        checked: found.filter(({ isChecked }) => isChecked).length,
        unchecked: lacks.length,
        lacks: [...new Set(lacks)],
      }
    },

    former(now) {
      // Most devices have none, and each check of words asks.
      if (!state.formerEpochs.hasAny()) return []
      dropOldKeys({ state, vault }, now)
      return state.formerEpochs.ids()
    },

    findFormer: (connection, indices, now) =>
      formerWords({ state, vault, account }, connection, indices, now).map(
        ({ subject, speaker, window, changedAt }) => ({
          ...hitBy(subject, speaker, window, null),
          changedAt,
        }),
      ),

    find(indices, now) {
      intake.work(() => false)
      const hits = index
        .find(codeOf(indices), acceptedAt(now))
        .map((entry) => hitOf(entry, now))
        .filter((hit) => hit !== null)
        .toSorted(bySubject)
      return { hits, ...intake.tally(now) }
    },
  }
}
