/** The alerts of the organisation, to read. */
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { filled, messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { Loaded } from '../../ui/page.tsx'
import { Name } from '../../ui/person-name.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import { ORGANISATION_CHANGES } from './changes.ts'

const readAlerts = () =>
  allItems((query) => dataOf(api.GET('/api/v1/org/alerts', { params: { query } })))

const HOUR = 60
const DAY = 24 * HOUR

/** Returns a number of minutes in its largest whole unit. */
function spanText(minutes: number): string {
  const { organisation: texts } = messages()
  if (minutes % DAY === 0) return filled(texts.days, { count: minutes / DAY })
  if (minutes % HOUR === 0) return filled(texts.hours, { count: minutes / HOUR })
  return filled(texts.minutes, { count: minutes })
}

const AlertRow = ({ of }: { readonly of: Schemas['OrgAlert'] }) => {
  const { organisation: texts } = messages()
  return (
    <tr>
      <th scope="row">
        <Name of={of.name} />
      </th>
      <td>
        {filled(texts.alertRule, {
          event: texts[`event_${of.event}`],
          count: of.threshold,
          minutes: spanText(of.window_minutes),
        })}
        <span class="hint block">{filled(texts.notifies, { count: of.notify.length })}</span>
      </td>
      <td>
        <span class="badge" data-kind={of.enabled ? 'ok' : undefined}>
          {of.enabled ? texts.on : texts.off}
        </span>
      </td>
      <td>
        <When at={of.last_fired_at} />
      </td>
    </tr>
  )
}

/** The alerts of the organisation. */
export const AlertList = () => {
  const { organisation: texts } = messages()
  const alerts = useResource('alerts', readAlerts, ORGANISATION_CHANGES)
  return (
    <section class="card">
      <h2>{texts.alerts}</h2>
      <p class="hint">{texts.alertsLead}</p>
      <Loaded from={alerts}>
        {(items) =>
          items.length === 0 ? null : (
            <TableBox
              label={texts.alerts}
              heading={[texts.alertName, texts.rule, texts.state, texts.lastFired]}
            >
              {items.map((alert) => (
                <AlertRow key={alert.id} of={alert} />
              ))}
            </TableBox>
          )
        }
      </Loaded>
      <p>{alerts.data.value?.length === 0 ? texts.noAlerts : texts.changeAlert}</p>
      <p>
        <CommandText of="countersignd org alert create" />
      </p>
    </section>
  )
}
