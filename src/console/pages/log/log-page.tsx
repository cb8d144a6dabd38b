/** The log: the checks of words, and the audit log. */
import { hrefOf } from '../../shell/router.ts'
import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { PageTabs } from '../../ui/page-tabs.tsx'
import { AuditLog } from './audit-list.tsx'
import { CheckList } from './check-list.tsx'

/** The page. */
export default function LogPage({ rest: [part] }: { readonly rest: readonly string[] }) {
  const { frame, log } = messages()
  const isAudit = part === 'audit'
  return (
    <PageFrame title={frame.log}>
      <PageTabs
        label={log.parts}
        tabs={[
          { href: hrefOf('log'), text: log.checks, isCurrent: !isAudit },
          { href: hrefOf('log', 'audit'), text: log.audit, isCurrent: isAudit },
        ]}
      />
      {isAudit ? (
        <AuditLog />
      ) : (
        <>
          <p class="lead">{log.checksLead}</p>
          <CheckList />
        </>
      )}
    </PageFrame>
  )
}
