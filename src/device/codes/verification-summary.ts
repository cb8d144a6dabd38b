/** The summary of a check's result, for people. */
import { subjectOf } from '../../api/name-text.ts'
import type { Match, Verification } from '../../api/rest/verify.ts'
import type { Expected } from './expected.ts'

const ADVICE = 'If they fail again, hang up, and call a number that you know.'

/** Returns the part of the summary about the challenge that the words answered. */
function answered(expected: Expected | null): string {
  if (!expected?.challenge) return ''
  const { shown } = expected.challenge.purpose
  return `, for you alone, for ${shown === '' ? 'no purpose' : `"${shown}"`}`
}

/** Returns the summary if the words match nothing. */
function summariseNone(
  { conclusive, reasons }: Pick<Verification, 'conclusive' | 'reasons'>,
  expected: Expected | null,
): string {
  const why = reasons.join(', ')
  if (expected === null)
    return conclusive
      ? 'Not verified: these are not the current words of any contact.'
      : `Inconclusive: not everything could be checked (${why}).`
  if (conclusive && expected.challenge !== null)
    return `Not verified: the words, the person or the purpose differ. Make a new challenge, and ask for new words. ${ADVICE}`
  return conclusive
    ? `Not verified: ${expected.saysNot} these words now. Ask for the words again. ${ADVICE}`
    : `Inconclusive: it could not be checked whether ${expected.says} these words (${why}).`
}

/**
 * Returns one line for people: the result and, if it is not obvious, what to do.
 * @param others the matches with speakers other than the user
 * @param expected the speakers that the request expected; null if it named none
 */
export function summarise(
  result: Omit<Verification, 'summary' | 'checked_at'>,
  others: readonly Match[],
  expected: Expected | null,
): string {
  const { verified, replayed, matches, reasons, old_epoch, changed_at = '' } = result
  const names = others.map(subjectOf).join(', ')
  if (verified) {
    const doubts = [...new Set(others.flatMap((match) => match.reasons ?? []))]
    const sure =
      doubts.length === 0 ? '' : ` Not everything could be checked (${doubts.join(', ')}).`
    return `Verified: the words of ${names}${answered(expected)}.${sure}`
  }
  if (old_epoch)
    return `Not proven: words from before a change on ${changed_at.slice(0, 10)}. Ask the person to open the app and say new words.`
  if (replayed) return `The words of ${names}, but they were used before: no proof.`
  if (others.length > 0)
    return reasons.includes('connection_ended')
      ? `The words of ${names}, but an owner ended that connection: no proof.`
      : `The words of ${names}, but the clock cannot be trusted: no proof.`
  const own = matches.find(({ speaker }) => speaker === 'self')
  if (own !== undefined) return `Your own words for this ${own.kind}, repeated back: no proof.`
  return summariseNone(result, expected)
}
