/** Errors of an approval. */
import type { ReadonlySignal } from '@preact/signals'
import type { ApiFailure } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'

/** The errors after which only a new attempt can succeed. */
const OVER = new Set(['conflict', 'invalid_state', 'not_found', 'backend_error', 'rate_limited'])

/** Returns whether an attempt is over, so that only a new one can succeed. */
export const isAttemptOver = ({ code }: ApiFailure): boolean => OVER.has(code)

/** Shows why an approval failed, and what to do. */
export const ApprovalFailure = ({ of }: { readonly of: ReadonlySignal<ApiFailure | null> }) => {
  const texts = messages().devices
  const known: Readonly<Record<string, string>> = {
    validation_failed: texts.otherWords,
    conflict: texts.startedAgain,
    invalid_state: texts.noAttempt,
    not_found: texts.gone,
  }
  const text = known[of.value?.code ?? '']
  return text === undefined ? <FailureNotice of={of} /> : <NoticeBox kind="bad">{text}</NoticeBox>
}
