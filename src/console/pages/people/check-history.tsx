/** The newest checks of a person's words. */
import type { Schemas } from '../../data/api.ts'
import { hrefOf } from '../../shell/router.ts'
import { messages } from '../../text/text.tsx'
import { OutcomeBadge } from '../../ui/outcome-badge.tsx'
import { Loaded } from '../../ui/page.tsx'
import { Name } from '../../ui/person-name.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import { useNewestChecks } from './people-data.ts'

/** How many checks are shown. */
const MOST = 10

const isAbout = (id: string) => (match: Schemas['LoggedMatch']) =>
  match.connection_id === id || match.guest_code_id === id

/**
 * Shows the checks.
 * @param of the id of the connection or the guest code
 */
export const CheckHistory = ({ of: id }: { readonly of: string }) => {
  const { people, log } = messages()
  const checks = useNewestChecks()
  return (
    <section class="card">
      <h2>{people.history}</h2>
      <Loaded from={checks}>
        {({ entries }) => {
          const shown = entries.filter(({ matches }) => matches.some(isAbout(id))).slice(0, MOST)
          return shown.length === 0 ? (
            <p>{people.historyNone}</p>
          ) : (
            <TableBox label={people.history} heading={[log.time, log.outcome, log.who]}>
              {shown.map((entry) => (
                <tr key={entry.id}>
                  <td>
                    <When at={entry.at} />
                  </td>
                  <td>
                    <OutcomeBadge of={entry.outcome} />
                  </td>
                  <td>
                    <Name of={entry.matches.find(isAbout(id))?.display_name ?? ''} />
                  </td>
                </tr>
              ))}
            </TableBox>
          )
        }}
      </Loaded>
      <p>
        <a href={hrefOf('log')}>{people.allChecks}</a>
      </p>
    </section>
  )
}
