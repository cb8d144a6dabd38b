/**
 * The approval of a new device: the user types its four words here, and then the four words of this
 * device there.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { allItems, api, dataOf, type ApiFailure, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { hrefOf } from '../../shell/router.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { CommandText } from '../../ui/command.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Loaded, PageFrame } from '../../ui/page.tsx'
import { Name } from '../../ui/person-name.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { When } from '../../ui/when.tsx'
import { ApprovalFailure, isAttemptOver } from './approval-failure.tsx'
import { ApprovalProgress } from './approval-progress.tsx'
import { NewDeviceWords } from './new-device-words.tsx'

/** How often an approval is continued, in milliseconds. The new device waits for each answer. */
const STEP_MS = 1000

/** How far the new device is; null before the attempt begins. */
type Progress = 'waiting' | 'answered' | 'revealing' | 'ready' | null

/** What the user does on the new device until it shows words. */
const Connecting = (of: { readonly progress: Progress; readonly name: string }) => {
  const texts = messages().devices
  const values = { name: <Name of={of.name} /> }
  return (
    <div role="status">
      {of.progress === 'revealing' ? (
        <p>
          <MessageText of={texts.revealing} values={values} />
        </p>
      ) : (
        <>
          <p>
            <MessageText
              of={of.progress === 'answered' ? texts.answered : texts.waiting}
              values={values}
            />
          </p>
          <CommandText of="countersignd login" />
        </>
      )}
    </div>
  )
}

/** An attempt to approve a device that waits. */
const ApprovalAttempt = (of: {
  readonly device: Schemas['Device']
  readonly onApproved: (words: string) => void
}) => {
  const texts = messages().devices
  const { id, name, created_at } = of.device
  const params = { params: { path: { id } } }
  const progress = useSignal<Progress>(null)
  const ended = useSignal<ApiFailure | null>(null)
  const hasBegun = useRef(false)
  const beginning = useAction(async () => {
    ended.value = null
    hasBegun.current = true
    const { state } = await dataOf(api.POST('/api/v1/devices/{id}/approval/attempt', params))
    progress.value = state
  })
  const step = useAction(async () => {
    const { state } = await dataOf(api.POST('/api/v1/devices/{id}/approval/step', params))
    progress.value = state
  })
  const end = (failure: ApiFailure) => {
    progress.value = null
    ended.value = failure
  }
  const isConnecting = progress.value !== null && progress.value !== 'ready'
  useEffect(() => {
    if (!isConnecting) return undefined
    const timer = setInterval(() => {
      void step.run().then(() => {
        const failure = step.failure.value
        if (failure !== null && isAttemptOver(failure)) end(failure)
      })
    }, STEP_MS)
    return () => {
      clearInterval(timer)
    }
  }, [isConnecting])
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    // The button or input that had the focus is replaced.
    const { activeElement: active } = document
    if (hasBegun.current && (active === null || active === document.body)) box.current?.focus()
  }, [isConnecting, progress.value === null])
  return (
    <section class="card" ref={box} tabIndex={-1} aria-label={texts.approveTitle}>
      <h2>
        <Name of={name} />{' '}
        <span class="badge" data-kind="warn">
          {texts.isNew}
        </span>
      </h2>
      <p class="facts">
        <MessageText of={texts.asked} values={{ when: <When at={created_at} /> }} />
      </p>
      <NoticeBox kind="warn">{texts.warning}</NoticeBox>
      <ApprovalFailure of={ended} />
      {progress.value === null ? (
        <>
          <RightsNotice needs="full" />
          <p>{texts.beginText}</p>
          <p>
            <CommandText of="countersignd login" />
          </p>
          <ApprovalFailure of={beginning.failure} />
          <ActionButton action={beginning} kind="main" disabled={!hasScope('full')}>
            {texts.begin}
          </ActionButton>
        </>
      ) : isConnecting ? (
        <>
          <Connecting progress={progress.value} name={name} />
          <FailureNotice of={step.failure} />
        </>
      ) : (
        <NewDeviceWords id={id} name={name} onApproved={of.onApproved} onOver={end} />
      )}
    </section>
  )
}

export const ApproveDevice = ({ id }: { readonly id: string }) => {
  const texts = messages().devices
  const own = useSignal<{ readonly name: string; readonly words: string } | null>(null)
  const devices = useResource(
    'device-to-approve',
    () => allItems((query) => dataOf(api.GET('/api/v1/devices', { params: { query } }))),
    ['device.*'],
  )
  return (
    <PageFrame
      title={texts.approveTitle}
      lead={texts.approveLead}
      back={{ href: hrefOf('devices'), text: texts.back }}
    >
      {own.value === null ? (
        <Loaded from={devices}>
          {(all) => {
            const device = all.find((one) => one.id === id)
            if (device === undefined) return <NoticeBox kind="bad">{texts.gone}</NoticeBox>
            const { name, state } = device
            return state === 'active' ? (
              <NoticeBox kind="ok">
                <MessageText of={texts.isActive} values={{ name: <Name of={name} /> }} />
              </NoticeBox>
            ) : (
              <ApprovalAttempt
                device={device}
                onApproved={(words) => {
                  own.value = { name, words }
                }}
              />
            )
          }}
        </Loaded>
      ) : (
        <ApprovalProgress id={id} name={own.value.name} words={own.value.words} />
      )}
    </PageFrame>
  )
}
