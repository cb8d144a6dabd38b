/** The checks of words, with a filter. */
import { useComputed, useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { usePagedList } from '../../data/paged.ts'
import { useTokenNames } from '../../data/token-names.ts'
import { hrefOf } from '../../shell/router.ts'
import { messages } from '../../text/text.tsx'
import { CallerName } from '../../ui/caller-name.tsx'
import { CsvButton } from './csv-button.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { MoreOfList } from '../../ui/more-button.tsx'
import { OutcomeBadge } from '../../ui/outcome-badge.tsx'
import { Name } from '../../ui/person-name.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import {
  checkRows,
  fitsCheckFilter,
  nameOfLogged,
  readChecks,
  type LoggedCheck,
} from './check-rows.ts'

/** How many entries are read at once, at least. */
const WANTED = 50

/** The outcomes, each with a filter. */
const OUTCOMES = ['verified', 'not_verified', 'inconclusive', 'echo'] as const

/** Who was found: a link to the person, if there is one. */
const FoundPerson = ({ of }: { readonly of: LoggedCheck['matches'][number] }): ComponentChild => {
  const { log } = messages()
  if (of.speaker === 'self') return log.ownWords
  const name = nameOfLogged(of)
  if (name === null) return log.stamp
  const id = of.connection_id ?? of.guest_code_id
  return id === undefined ? (
    <Name of={name} />
  ) : (
    <a href={hrefOf('people', id)}>
      <Name of={name} />
    </a>
  )
}

const CheckRow = ({ of }: { readonly of: LoggedCheck }) => {
  const { log } = messages()
  return (
    <tr>
      <td>
        <When at={of.at} />
      </td>
      <td>
        <OutcomeBadge of={of.outcome} />
      </td>
      <td>
        {of.matches.length === 0
          ? log.noOne
          : of.matches.map((match, at) => (
              <div key={at}>
                <FoundPerson of={match} />
              </div>
            ))}
      </td>
      <td>{log[of.method]}</td>
      <td>
        <CallerName of={of.caller ?? 'command line'} />
      </td>
    </tr>
  )
}

/** Lists the checks, newest first. */
export const CheckList = () => {
  const { log } = messages()
  useTokenNames()
  const [person, outcome] = [useSignal(''), useSignal('')]
  const [from, to] = [useSignal(''), useSignal('')]
  const filter = useComputed(() => ({
    person: person.value,
    outcome: outcome.value,
    from: from.value,
    to: to.value,
  }))
  const current = filter.value
  const list = usePagedList<LoggedCheck>(
    JSON.stringify(current),
    {
      read: (cursor) => readChecks(current, cursor),
      keyOf: ({ id }) => id,
      fits: (check) => fitsCheckFilter(check, current),
      wanted: WANTED,
    },
    ['verification.made', 'sync.done'],
  )
  const items = list.shown
  const isFiltered = Object.values(current).some((value) => value !== '')
  return (
    <div class="card">
      <div class="pair" role="search">
        <TextField label={log.person} type="search" value={person} />
        <SelectField
          label={log.outcome}
          value={outcome}
          options={[['', log.all], ...OUTCOMES.map((one) => [one, log[one]] as const)]}
        />
        <TextField label={log.from} type="date" value={from} />
        <TextField label={log.to} type="date" value={to} />
      </div>
      {items === undefined ? null : items.length === 0 ? (
        <p role="status">
          {list.hasMore.value ? log.noneYet : isFiltered ? log.noMatch : log.none}
        </p>
      ) : (
        <TableBox label={log.checks} heading={[log.time, log.outcome, log.who, log.method, log.by]}>
          {items.map((check) => (
            <CheckRow key={check.id} of={check} />
          ))}
        </TableBox>
      )}
      <div class="answers">
        <MoreOfList of={list} />
        <CsvButton fileName="countersign-checks.csv" rows={() => checkRows(current)} />
      </div>
    </div>
  )
}
