/**
 * Codes: what the own account says on each connection and to each guest, and whose words somebody else's are. Both follow from
 * the state, which is asked when somebody wants to know; who changes something there says so here.
 */
import { timeAt } from '../../api/fields.ts'
import type { Identified, Match } from '../../api/rest/verify.ts'
import { challengeReader } from '../../crypto/challenge.ts'
import { PERIOD_S, acceptedAt, codeOf, codeReader, windowOf } from '../../crypto/code.ts'
import { PREFIX, parseId } from '../../crypto/encoding/id.ts'
import { wordsAt } from '../../crypto/words.ts'
import type { ConnectionRow } from '../../state/connections.ts'
import type { GuestRow } from '../../state/guests.ts'
import type { State } from '../../state/state.ts'
import { type Said, newCodeIndex } from './code-index.ts'
import { type Tally, newIntake } from './code-intake.ts'
import { type Pace, REAL_PACE, type Schedule, newSchedule } from './code-schedule.ts'
import {
  type Lack,
  type Speaker,
  type Subject,
  keyToCheck,
  readCodeKey,
  readSubject,
} from './code-subjects.ts'
import type { Expected } from './expected.ts'
import { dropOldKeys, formerWords } from './former-keys.ts'
import { type Answered, spokenBy } from './spoken-codes.ts'
import { guestName, nameOf } from '../names.ts'
import type { Vault } from '../identity/vault.ts'

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

/** What a speaker is asked to say words for. */
export interface Asked extends Answered {
  /** The account id of the listener. */
  readonly listener: string
}

/** A match, with the key under which it may be used once. */
export interface Hit {
  readonly match: Identified
  readonly naming: Pick<Match, 'name_source' | 'name_marks'>
  readonly use: { subject: string; epoch: number; speaker: string; window: number }
  /** An owner ended the connection for all members, so the words prove nothing. */
  readonly isEnded: boolean
}

/** Words of the epoch before a routine rotation: they prove nothing. */
export interface FormerHit extends Hit {
  /** When the epoch was over for this device, Unix milliseconds. */
  readonly changedAt: number
}

/** Everybody whose words these are, and how much could be checked. */
export interface Found extends Tally {
  readonly hits: Hit[]
}

export interface Codes {
  /** A connection was put into the state, or its secret into the vault, or both. */
  putConnection(row: Pick<ConnectionRow, 'id'>): void
  /** The same of a guest code. */
  putGuest(row: Pick<GuestRow, 'id'>): void
  /** A connection or a guest code is taken from the state, now or at once after this. */
  remove(id: string): void
  /** Whether this is a connection that is known here, or a guest code that was not ended. */
  has(id: string): boolean
  /** The own words for a guest code or on a connection now; null when it, or its secret, is not here, or it is held. */
  own(id: string, now: number): OwnCode | null
  /** The same of a connection, with its id; null for anything that is none. */
  toSay(connection: string, now: number): ConnectionCode | null
  /** The words to say to one listener who gave a challenge; null as for `toSay`. */
  toListener(connection: string, asked: Asked, now: number): OwnCode | null
  /** Make `find` answer at once: null when it does already. To be asked again before it is called. */
  readonly ready: Schedule['ready']
  /** Everybody whose words these three are, by indices. Right in any case; quick when it is ready. */
  find(indices: readonly number[], now: number): Found
  /** The same of the expected speakers and the own account there alone; needs no `ready`. */
  findOf(expected: Expected, indices: readonly number[], now: number): Found
  /** Ids of the connections of which a former code key is kept. */
  former(now: number): string[]
  /** The other members of a connection that have these words in the epoch before. */
  findFormer(connection: string, indices: readonly number[], now: number): FormerHit[]
}

/** A subject of which words were wanted. */
interface Spoken {
  readonly kind: Subject['kind']
  readonly read: ReturnType<typeof codeReader>
  said: { readonly window: number; readonly code: ConnectionCode } | null
}

/** Oldest first, so that the same words have the same answer after another start. */
const bySubject = ({ use: { subject: a } }: Hit, { use: { subject: b } }: Hit) =>
  a < b ? -1 : a > b ? 1 : 0

/** Codes by the state. `account` is the own account id. */
export function openCodes(
  state: State,
  vault: Vault,
  account: string,
  pace: Pace = REAL_PACE,
): Codes {
  const own = parseId(PREFIX.account, account)
  const spoken = new Map<string, Spoken>()
  const index = newCodeIndex()
  const intake = newIntake({ state, vault, account, index })
  const schedule = newSchedule({
    work: (windows, enough) => intake.work(enough) && index.prepare(windows, enough),
    codes: () => index.codes(),
    pace,
  })

  function changed(id: string): void {
    spoken.delete(id)
    intake.changed(id)
  }

  function spokenOf(id: string): Spoken | null {
    const known = spoken.get(id)
    if (known !== undefined) return known
    const subject = readSubject(state, account, id)
    if (subject === null || subject.hold !== null) return null
    const kc = readCodeKey(vault, subject)
    if (kc === null) return null
    const made = { kind: subject.kind, read: codeReader(kc), said: null }
    kc.fill(0)
    spoken.set(id, made)
    return made
  }

  const validity = (window: number): Omit<OwnCode, 'words'> => ({
    period_s: PERIOD_S,
    valid_from: timeAt(window * PERIOD_S * 1000),
    valid_until: timeAt((window + 1) * PERIOD_S * 1000),
  })

  /** The own code of a subject, the same object as long as its window lasts. */
  function ownCode(id: string, of: Spoken, now: number): ConnectionCode {
    const window = windowOf(now)
    if (of.said?.window === window) return of.said.code
    const words = wordsAt(of.read(window, own)).join(' ')
    const code = Object.freeze({ connection_id: id, words, ...validity(window) })
    of.said = { window, code }
    return code
  }

  /** Who it is that says a code, by name; null for a guest code that has run out. */
  function hitOf({ id, speaker: bytes, window }: Said, now: number): Hit | null {
    const subject = readSubject(state, account, id)
    const speaker = subject?.speakers.find((one) => Buffer.from(one.bytes).equals(bytes))
    if (subject === null || speaker === undefined) return null
    const { expiresAt } = subject
    if (expiresAt !== null && expiresAt <= now) return null
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
        // The words of each challenge are others. Those of an equal one are used up with it.
        subject: challenge === null ? id : `${id} ${challenge.word}`,
        epoch,
        speaker: speaker.id,
        window,
      },
      isEnded: hold === 'ended',
    }
  }

  /** Whose words these are on one connection: its expected member, any where that is null, or own. */
  function findIn(
    id: string,
    user: string | null,
    challenge: Answered | null,
    indices: readonly number[],
    now: number,
  ): { readonly hits: Hit[]; readonly isChecked: boolean; readonly lack: Lack | null } {
    const subject = readSubject(state, account, id)
    if (subject === null) return { hits: [], isChecked: false, lack: null }
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
        listener: parseId(PREFIX.account, listener),
        challenge: word,
        purpose,
      })
      kc.fill(0)
      return { words: wordsAt(indices).join(' '), ...validity(window) }
    },

    findOf({ connections, user, challenge }, indices, now) {
      const found = connections.map((id) => findIn(id, user, challenge, indices, now))
      const lacks = found.map(({ lack }) => lack).filter((lack) => lack !== null)
      return {
        hits: found.flatMap(({ hits }) => hits).toSorted(bySubject),
        checked: found.filter(({ isChecked }) => isChecked).length,
        unchecked: lacks.length,
        lacks: [...new Set(lacks)],
      }
    },

    former(now) {
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
        .map((said) => hitOf(said, now))
        .filter((hit) => hit !== null)
        .toSorted(bySubject)
      return { hits, ...intake.tally(now) }
    },
  }
}
