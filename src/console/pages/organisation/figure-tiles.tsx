/** The totals of the organisation. */
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { locale, messages } from '../../text/text.tsx'
import { Loaded } from '../../ui/page.tsx'
import { ORGANISATION_CHANGES } from './changes.ts'

/** Returns the figures with their labels, the most important first. */
function figuresOf(of: Schemas['OrgDashboard']): [label: string, count: number][] {
  const { organisation: texts } = messages()
  const { members, ...rest } = of
  return [
    [texts.active, members.active],
    [texts.invited, members.invited],
    [texts.suspended, members.suspended],
    [texts.verifications, rest.verifications],
    [texts.alertsFired, rest.alerts_fired],
    [texts.connections, rest.connections],
    [texts.stamps, rest.stamps],
    [texts.groupCount, rest.groups],
    [texts.machines, rest.machines],
    [texts.activities, rest.activities],
  ]
}

/** The section of the figures. */
export const FigureTiles = () => {
  const { organisation: texts } = messages()
  const figures = useResource(
    'dashboard',
    () => dataOf(api.GET('/api/v1/org/analytics/dashboard')),
    ORGANISATION_CHANGES,
  )
  return (
    <section class="card" aria-labelledby="org-figures">
      <h2 id="org-figures">{texts.figures}</h2>
      <Loaded from={figures}>
        {(data) => (
          <dl class="figures">
            {figuresOf(data).map(([label, count]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{count.toLocaleString(locale())}</dd>
              </div>
            ))}
          </dl>
        )}
      </Loaded>
    </section>
  )
}
