/** The words of this device for the new one, and how far the new device is. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { api, dataOf } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { filled, messages, MessageText } from '../../text/text.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Name } from '../../ui/person-name.tsx'

/** How often the progress is read, in milliseconds. No event reports a sealed secret. */
const PROGRESS_MS = 2000

/** A step of the approval with its state, also for screen readers. */
const ProgressStep = (of: {
  readonly isDone: boolean
  readonly text: Parameters<typeof MessageText<'name'>>[0]['of']
  readonly name: string
}) => {
  const texts = messages().devices
  return (
    <li data-done={of.isDone}>
      <span class="unseen">{of.isDone ? texts.stepDone : texts.stepOpen} </span>
      <MessageText of={of.text} values={{ name: <Name of={of.name} /> }} />
    </li>
  )
}

export const ApprovalProgress = (of: {
  readonly id: string
  readonly name: string
  readonly words: string
}) => {
  const texts = messages().devices
  const heading = useRef<HTMLHeadingElement>(null)
  const isOver = useSignal(false)
  const approval = useResource(
    'approval',
    () => dataOf(api.GET('/api/v1/devices/{id}/approval', { params: { path: { id: of.id } } })),
    ['device.*', 'sync.done'],
  )
  const isGone = approval.failure.value?.code === 'not_found'
  const { state, unsealed } = approval.data.value ?? { state: 'pending', unsealed: 0 }
  const isTyped = state === 'active' && !isGone
  const isReady = isTyped && unsealed === 0
  isOver.value = isReady || isGone
  useEffect(() => {
    heading.current?.focus()
    const timer = setInterval(() => {
      if (!isOver.value) void approval.reload()
    }, PROGRESS_MS)
    return () => {
      clearInterval(timer)
    }
  }, [])
  const name = <Name of={of.name} />
  if (isGone) return <NoticeBox kind="bad">{texts.gone}</NoticeBox>
  return (
    <section class="card">
      <h2 ref={heading} tabIndex={-1}>
        {isTyped ? texts.progress : <MessageText of={texts.typeThere} values={{ name }} />}
      </h2>
      {isTyped ? null : (
        <p class="spoken" lang="en" translate={false}>
          {of.words.split(' ').map((word) => (
            <strong key={word}>{word} </strong>
          ))}
        </p>
      )}
      <ol class="approval-steps" aria-label={texts.progress} aria-live="polite">
        <ProgressStep isDone text={texts.stepCompared} name={of.name} />
        <ProgressStep isDone={isTyped} text={texts.stepTyped} name={of.name} />
        <ProgressStep isDone={isReady} text={texts.stepSealed} name={of.name} />
      </ol>
      {isTyped && unsealed > 0 ? (
        <p class="hint">{filled(texts.stepsLeft, { count: unsealed })}</p>
      ) : null}
      <FailureNotice of={approval.failure} />
      {isReady ? (
        <NoticeBox kind="ok">
          <MessageText of={texts.ready} values={{ name }} />
        </NoticeBox>
      ) : null}
    </section>
  )
}
