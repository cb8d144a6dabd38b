/** The sync: when the last one was, when the next one is, and how changes arrive. */
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { filled, MessageText, messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { When } from '../../ui/when.tsx'

type Status = Schemas['Status']

/** Returns what the next sync hands over, as short texts. */
function waitingTexts(waiting: Status['waiting']): string[] {
  const { health } = messages()
  const { verifications = 0, stamps = 0, rotations = 0 } = waiting ?? {}
  return [
    ...(verifications === 0 ? [] : [filled(health.waitingChecks, { count: verifications })]),
    ...(stamps === 0 ? [] : [filled(health.waitingStamps, { count: stamps })]),
    ...(rotations === 0 ? [] : [filled(health.waitingRotations, { count: rotations })]),
  ]
}

const LastSync = () => {
  const { health, common } = messages()
  const last = useResource('sync', () => dataOf(api.GET('/api/v1/sync')), ['sync.*', 'session.*'])
  const report = last.data.value?.last_sync ?? null
  if (report === null) return <>{common.never}</>
  const time = <When at={report.finished_at} />
  return (
    <>
      <MessageText of={report.ok ? health.succeeded : health.failed} values={{ time }} />
      {report.error === null ? null : (
        <span class="hint block" lang="en">
          {report.error}
        </span>
      )}
    </>
  )
}

const StreamText = ({ of }: { readonly of: NonNullable<Status['stream']> }) => {
  const { health } = messages()
  return (
    <>
      <MessageText
        of={of.state === 'open' ? health.streamOpen : health.streamClosed}
        values={{ time: <When at={of.since} /> }}
      />
      {of.reason === null ? null : (
        <span class="hint block" lang="en">
          {of.reason}
        </span>
      )}
    </>
  )
}

/** The card of the sync. */
export const SyncCard = ({ status }: { readonly status: Status }) => {
  const { health } = messages()
  const run = useAction(() => dataOf(api.POST('/api/v1/sync')))
  const waiting = waitingTexts(status.waiting)
  return (
    <section class="card" aria-labelledby="health-sync">
      <h2 id="health-sync">{health.sync}</h2>
      <dl>
        <dt>{health.lastSync}</dt>
        <dd>
          <LastSync />
        </dd>
        <dt>{health.lastGood}</dt>
        <dd>
          <When at={status.last_sync_at} />
        </dd>
        <dt>{health.nextSync}</dt>
        <dd>
          {status.next_sync_at === null ? health.runningNow : <When at={status.next_sync_at} />}
        </dd>
        {status.stream === null ? null : (
          <>
            <dt>{health.changes}</dt>
            <dd>
              <StreamText of={status.stream} />
            </dd>
          </>
        )}
        <dt>{health.waiting}</dt>
        <dd>{waiting.length === 0 ? health.nothingWaits : waiting.join(', ')}</dd>
      </dl>
      <FailureNotice of={run.failure} />
      <ActionButton action={run} kind="main">
        {health.syncNow}
      </ActionButton>
    </section>
  )
}
