/** The backup: how old the last one is, and the command that makes one. */
import type { Schemas } from '../../data/api.ts'
import { thisMinute } from '../../data/clock.ts'
import { filled, messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { When } from '../../ui/when.tsx'
import { StateBadge } from './state-badge.tsx'

/** A backup that is older than this may lack connections, in milliseconds: 30 days. */
const OLD_MS = 30 * 86_400_000

/** The card of the backup. */
export const BackupCard = ({ status }: { readonly status: Schemas['Status'] }) => {
  const { health } = messages()
  const { last_backup_at: at, scheduled_backup: scheduled } = status
  const isFresh = at !== null && thisMinute.value - Date.parse(at) < OLD_MS
  return (
    <section class="card" aria-labelledby="health-backup">
      <h2 id="health-backup">{health.backup}</h2>
      <dl>
        <dt>{health.lastBackup}</dt>
        <dd>
          <StateBadge kind={isFresh ? 'ok' : 'warn'}>
            <When at={at} />
          </StateBadge>
        </dd>
      </dl>
      {scheduled === null ? null : (
        <dl>
          <dt>{health.scheduledBackup}</dt>
          <dd>{filled(health.scheduledDaily, { time: scheduled.at, count: scheduled.keep })}</dd>
          <dt>{health.testedBackup}</dt>
          <dd>
            <StateBadge kind={scheduled.fault === null ? 'ok' : 'bad'}>
              <When at={scheduled.last_success_at} />
            </StateBadge>
            {scheduled.fault === null ? null : <ServerText lang="en" text={scheduled.fault} />}
          </dd>
        </dl>
      )}
      <p>{scheduled === null ? health.backupDaily : health.backupNow}</p>
      <p>
        <CommandText
          of={
            scheduled === null
              ? 'countersignd backup --schedule 03:00 --to FOLDER'
              : 'countersignd backup --scheduled'
          }
        />
      </p>
    </section>
  )
}
