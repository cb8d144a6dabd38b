/** Errors of the API as sentences. */
import type { ReadonlySignal } from '@preact/signals'
import type { ApiFailure } from '../data/api.ts'
import { MessageText, messages, filled } from '../text/text.tsx'
import { CommandText } from './command.tsx'
import { NoticeBox } from './notice.tsx'

/** The errors that the account server's absence causes. */
const AWAY = new Set(['backend_unavailable', 'backend_timeout'])

const isAway = ({ code }: ApiFailure): boolean => code === 'unreachable' || AWAY.has(code)

const Sentence = ({ failure }: { readonly failure: ApiFailure }) => {
  const { common } = messages()
  const { code, details, message } = failure
  if (code === 'unreachable') return <>{common.unreachable}</>
  if (AWAY.has(code)) return <>{common.backendAway}</>
  if (code === 'conflict') return <>{common.conflict}</>
  const wanted = details['required_scope']
  if (code === 'insufficient_scope' && wanted !== undefined)
    return wanted === 'full' ? (
      <>
        {common.needsFull} <CommandText of="countersignd open --full" />
      </>
    ) : (
      <>
        {common.needsWrite} <CommandText of="countersignd open" />
      </>
    )
  if (code === 'insufficient_user_authentication')
    return (
      <>
        {common.signInAgain} <CommandText of="countersignd open --full" />
      </>
    )
  const seconds = details['retry_after_s']
  if (typeof seconds === 'number') return <>{filled(common.tooMany, { seconds })}</>
  // Texts of the API are in English.
  return <MessageText of={common.failed} values={{ message: <span lang="en">{message}</span> }} />
}

/** Shows why something failed; nothing for null. */
export const FailureNotice = ({ of }: { readonly of: ReadonlySignal<ApiFailure | null> }) =>
  of.value === null ? null : (
    // Red is for what is wrong, not for what could not be tried.
    <NoticeBox kind={isAway(of.value) ? 'warn' : 'bad'}>
      <Sentence failure={of.value} />
    </NoticeBox>
  )
