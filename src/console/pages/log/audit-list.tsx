/** The lines of the audit log, with a filter. */
import { useComputed, useSignal } from '@preact/signals'
import { usePagedList } from '../../data/paged.ts'
import { useTokenNames } from '../../data/token-names.ts'
import { filled, messages } from '../../text/text.tsx'
import { CsvButton } from './csv-button.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { MoreOfList } from '../../ui/more-button.tsx'
import { Name } from '../../ui/person-name.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import { AuditChainCard } from './audit-chain.tsx'
import {
  auditRows,
  fitsAuditFilter,
  isRefusedLine,
  outcomeText,
  readAudit,
  senderOf,
  type AuditKind,
  type AuditLineShown,
} from './audit-rows.ts'

/** How many lines are read at once, at least. */
const WANTED = 50

const AuditRow = ({ of }: { readonly of: AuditLineShown }) => {
  const { log } = messages()
  const { route, created, unlisted, lost } = of
  return (
    <tr>
      <td>
        <When at={of.at} />
      </td>
      <td>
        <span title={of.token ?? undefined}>
          <Name of={senderOf(of)} />
        </span>
      </td>
      <td>
        {route === null ? null : <code translate={false}>{route}</code>}
        {created === null ? null : <div class="hint">{filled(log.created, { id: created })}</div>}
        {unlisted === 0 ? null : (
          <div class="hint">{filled(log.unlisted, { count: unlisted })}</div>
        )}
        {lost === 0 ? null : <div class="hint">{filled(log.lost, { count: lost })}</div>}
      </td>
      <td>
        {isRefusedLine(of) ? (
          <span class="badge" data-kind="bad">
            {outcomeText(of)}
          </span>
        ) : (
          outcomeText(of)
        )}
      </td>
    </tr>
  )
}

const AuditTable = () => {
  const { log } = messages()
  useTokenNames()
  const kind = useSignal<AuditKind>('changes')
  const text = useSignal('')
  const filter = useComputed(() => ({ kind: kind.value, text: text.value }))
  const current = filter.value
  const list = usePagedList<AuditLineShown>(
    JSON.stringify(current),
    {
      read: readAudit,
      keyOf: ({ line }) => String(line),
      fits: (line) => fitsAuditFilter(line, current),
      wanted: WANTED,
    },
    ['*'],
  )
  const items = list.shown
  return (
    <div class="card">
      <div class="pair" role="search">
        <SelectField
          label={log.kind}
          value={kind}
          options={[
            ['changes', log.changes],
            ['refusals', log.refusals],
            ['starts', log.starts],
            ['', log.all],
          ]}
        />
        <TextField label={log.filter} type="search" value={text} />
      </div>
      {items === undefined ? null : items.length === 0 ? (
        <p role="status">{list.hasMore.value ? log.noneYet : log.noMatch}</p>
      ) : (
        <TableBox label={log.audit} heading={[log.time, log.by, log.what, log.outcome]}>
          {items.map((line) => (
            <AuditRow key={line.line} of={line} />
          ))}
        </TableBox>
      )}
      <div class="answers">
        <MoreOfList of={list} />
        <CsvButton fileName="countersign-audit.csv" rows={() => auditRows(current)} />
      </div>
    </div>
  )
}

/** Shows the audit log, which needs full rights. */
export const AuditLog = () => {
  const { log } = messages()
  return (
    <>
      <p class="lead">{log.auditLead}</p>
      <RightsNotice needs="full" />
      {hasScope('full') ? (
        <>
          <AuditChainCard />
          <AuditTable />
        </>
      ) : null}
    </>
  )
}
