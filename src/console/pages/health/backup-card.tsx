/** The backup: how old the last one is, and the command that makes one. */
import type { Schemas } from '../../data/api.ts'
import { thisMinute } from '../../data/clock.ts'
import { messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { When } from '../../ui/when.tsx'
import { StateBadge } from './state-badge.tsx'

/** A backup that is older than this may lack connections, in milliseconds: 30 days. */
const OLD_MS = 30 * 86_400_000

/** The card of the backup. */
export const BackupCard = ({ status }: { readonly status: Schemas['Status'] }) => {
  const { health } = messages()
  const at = status.last_backup_at
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
      <p>{health.backupNow}</p>
      <p>
        <CommandText of="countersignd backup countersign.backup" />
      </p>
    </section>
  )
}
