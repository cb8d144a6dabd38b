/** Health: the findings of doctor, the sync, the account server, the daemon, and the backup. */
import { awaySince } from '../../data/live.ts'
import { daemonStatus } from '../../data/status.ts'
import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { BackupCard } from './backup-card.tsx'
import { DaemonCard } from './daemon-card.tsx'
import { DoctorFindings } from './doctor-findings.tsx'
import { ServerCard } from './server-card.tsx'
import { SyncCard } from './sync-card.tsx'

export default function HealthPage() {
  const { frame } = messages()
  const status = daemonStatus.value
  return (
    <PageFrame title={frame.health}>
      <DoctorFindings />
      {status === null ? (
        awaySince.value === null && <p role="status">{frame.loading}</p>
      ) : (
        <div class="grid wide">
          <SyncCard status={status} />
          <ServerCard status={status} />
          <DaemonCard status={status} />
          <BackupCard status={status} />
        </div>
      )}
    </PageFrame>
  )
}
