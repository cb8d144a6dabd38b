/** The verdict about checked words: who speaks, or what to do. */
import type { ComponentChild } from 'preact'
import { h } from 'preact'
import type { Schemas } from '../../data/api.ts'
import { thisMinute } from '../../data/clock.ts'
import { filled, locale, messages, timeShort } from '../../text/text.tsx'
import { partsOf } from '../../../languages/message.ts'
import { Name, PersonNameText } from '../../ui/person-name.tsx'

type Verification = Schemas['Verification']
type Match = Schemas['Match']

/** A verdict as it is shown. */
export interface CallVerdict {
  /** ok: verified. bad: hang up. warn: no conclusion. */
  readonly kind: 'ok' | 'warn' | 'bad'
  readonly title: ComponentChild
  /** What to do, a sentence each. */
  readonly next: readonly ComponentChild[]
  /** The speaker that the words prove; null for none. */
  readonly speaker: Match | null
  /** Whether a sync can change the result. */
  readonly canSync: boolean
}

const isSure = ({ speaker, conclusive }: Match): boolean => speaker === 'other' && conclusive

/** The reasons that a sync can remove. */
const SYNCED = new Set(['clock_uncertain', 'sync_stale', 'rotation_pending', 'secret_missing'])

/**
 * Returns the name of a match. The name that the user gave comes first: that of the connection or
 * the label of the guest.
 */
export function nameOfMatch(match: Match): ComponentChild {
  const { connection_name, display_name, external_member, kind, name_source } = match
  const person = h(PersonNameText, { of: match })
  if (kind === 'guest')
    return external_member == null || external_member.display_name === display_name
      ? person
      : [person, ' (', h(Name, { of: external_member.display_name }), ')']
  // A connection first has the name that its other member claims, so this name is no evidence.
  const isClaim = name_source === 'self' || name_source === 'server'
  return connection_name === undefined || (connection_name === display_name && !isClaim)
    ? person
    : [h(Name, { of: connection_name }), ' (', person, ')']
}

function verifiedVerdict(result: Verification, match: Match): CallVerdict {
  const { call } = messages()
  const name = nameOfMatch(match)
  const title =
    result.purpose === undefined || result.purpose === ''
      ? partsOf(call.verified, { name }, locale())
      : partsOf(
          call.verifiedPurpose,
          { name, purpose: h('strong', null, h('bdi', null, result.purpose)) },
          locale(),
        )
  const at = filled(call.verifiedAt, { time: timeShort(result.checked_at, thisMinute.value) })
  return { kind: 'ok', title, next: [at], speaker: match, canSync: false }
}

/** Returns the verdict if something could not be checked. */
function unsureVerdict({ verified, matches, reasons }: Verification): CallVerdict {
  const { call } = messages()
  const other = verified ? matches.find(({ speaker }) => speaker === 'other') : undefined
  const found = other === undefined ? reasons : matches.flatMap((match) => match.reasons ?? [])
  return {
    kind: 'warn',
    title:
      other === undefined
        ? call.cannotSay
        : partsOf(call.matchUnsure, { name: nameOfMatch(other) }, locale()),
    next: [...[...new Set(found)].map((reason) => call[reason]), call.cannotSayNext],
    speaker: null,
    canSync: found.some((reason) => SYNCED.has(reason)),
  }
}

/**
 * Returns the verdict about a result.
 * @param expected the name of the called person; null if the caller can be anyone
 */
export function callVerdictOf(result: Verification, expected: string | null): CallVerdict {
  const { call } = messages()
  const { verified, conclusive, replayed, echo, old_epoch, purpose, matches } = result
  const wrong = (title: ComponentChild, next: ComponentChild): CallVerdict => ({
    kind: 'bad',
    title,
    next: [next],
    speaker: null,
    canSync: false,
  })
  const match = verified ? matches.find(isSure) : undefined
  if (match !== undefined) return verifiedVerdict(result, match)
  if (old_epoch === true) return { ...wrong(call.oldEpoch, call.oldEpochNext), kind: 'warn' }
  if (replayed) {
    const time = timeShort(result.first_verified_at ?? result.checked_at, thisMinute.value)
    return wrong(call.replayed, filled(call.replayedNext, { time }))
  }
  if (echo) return wrong(call.echo, call.echoNext)
  if (verified || !conclusive) return unsureVerdict(result)
  if (purpose !== undefined) return wrong(call.purposeWrong, call.purposeWrongNext)
  return wrong(
    expected === null
      ? call.wrong
      : partsOf(call.wrongExpected, { name: h(Name, { of: expected }) }, locale()),
    call.wrongNext,
  )
}
