/** The check of the installation: its findings, the worst first, each with its remedy. */
import { useSignal } from '@preact/signals'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { now, thisMinute } from '../../data/clock.ts'
import { useAction } from '../../data/action.ts'
import { useResource } from '../../data/resource.ts'
import { daemonStatus } from '../../data/status.ts'
import { filled, messages, timeShort } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { CommandText } from '../../ui/command.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { remedyOf } from './remedy.ts'
import { unknownText } from './state-badge.tsx'

type Finding = Schemas['DoctorReport']['checks'][number]

const ORDER = { fail: 0, warn: 1, ok: 2 } as const
const KINDS = { fail: 'bad', warn: 'warn', ok: 'ok' } as const

const FindingRow = ({ of: { state, name, found, remedy } }: { readonly of: Finding }) => {
  const { health } = messages()
  const { text, command } = remedyOf(remedy ?? '')
  return (
    <li class="finding">
      <span class="badge" data-kind={KINDS[state]}>
        {health[state]}
      </span>
      <div lang="en">
        <strong>{name}</strong>: {found}
        {text === '' ? null : <p>{text}</p>}
        {command === null ? null : (
          <p>
            <CommandText of={command} />
          </p>
        )}
      </div>
    </li>
  )
}

const Findings = ({ of }: { readonly of: readonly Finding[] }) => {
  const { health } = messages()
  const sorted = of.toSorted((a, b) => ORDER[a.state] - ORDER[b.state])
  const good = sorted.filter(({ state }) => state === 'ok')
  const others = sorted.filter(({ state }) => state !== 'ok')
  const broken = others.filter(({ state }) => state === 'fail').length
  const hasBackup = daemonStatus.value?.last_backup_at != null
  const unknown = unknownText()
  return (
    <>
      {unknown === null ? (
        <NoticeBox kind={broken > 0 ? 'bad' : others.length > 0 || !hasBackup ? 'warn' : 'ok'}>
          {broken > 0
            ? filled(health.broken, { count: broken })
            : others.length > 0
              ? filled(health.oneThing, { count: others.length })
              : hasBackup
                ? health.allWell
                : health.allWellNoBackup}
        </NoticeBox>
      ) : (
        <p class="badge">{unknown}</p>
      )}
      <ul class="rows">
        {others.map((finding) => (
          <FindingRow key={`${finding.name} ${finding.found}`} of={finding} />
        ))}
      </ul>
      <details>
        <summary>{filled(health.good, { count: good.length })}</summary>
        <ul class="rows">
          {good.map((finding) => (
            <FindingRow key={`${finding.name} ${finding.found}`} of={finding} />
          ))}
        </ul>
      </details>
    </>
  )
}

const Check = () => {
  const { health } = messages()
  const checkedAt = useSignal<string | null>(null)
  const report = useResource(
    'doctor',
    async () => {
      const read = await dataOf(api.GET('/api/v1/doctor'))
      checkedAt.value = new Date(now.peek()).toISOString()
      return read
    },
    [],
  )
  const again = useAction(report.reload)
  const data = report.data.value
  const at = checkedAt.value
  return (
    <>
      <FailureNotice of={report.failure} />
      {data !== undefined ? (
        <Findings of={data.checks} />
      ) : report.failure.value === null ? (
        <p role="status">{health.checking}</p>
      ) : null}
      {data === undefined && report.failure.value === null ? null : (
        <div class="answers">
          <ActionButton action={again}>{health.checkAgain}</ActionButton>
          {at === null ? null : (
            <span class="hint">
              {filled(health.checkedAt, { time: timeShort(at, thisMinute.value) })}
            </span>
          )}
        </div>
      )}
    </>
  )
}

/** The section of the check. Its findings name paths, so it needs full rights. */
export const DoctorFindings = () => {
  const { health } = messages()
  return (
    <section class="card" aria-labelledby="health-findings">
      <h2 id="health-findings">{health.findings}</h2>
      <p class="hint">{health.findingsLead}</p>
      {hasScope('full') ? <Check /> : <RightsNotice needs="full" />}
    </section>
  )
}
