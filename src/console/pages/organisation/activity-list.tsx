/** What happened in the organisation, newest first, by days. */
import { useSignal } from '@preact/signals'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { usePagedList } from '../../data/paged.ts'
import { messages } from '../../text/text.tsx'
import { TextField } from '../../ui/fields.tsx'
import { MoreOfList } from '../../ui/more-button.tsx'
import { Name } from '../../ui/person-name.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import { ORGANISATION_CHANGES } from './changes.ts'
import { ROLES } from './roles.ts'
import { calledMember, useMembersAndGroups, type MembersAndGroups } from './member-data.ts'

type Activity = Schemas['OrgActivity']

const PAGE = 50

interface Days {
  readonly from: string
  readonly to: string
}

const readPage = ({ from, to }: Days, cursor?: string) =>
  dataOf(
    api.GET('/api/v1/org/activity', {
      params: {
        query: {
          limit: PAGE,
          ...(from === '' ? {} : { from }),
          ...(to === '' ? {} : { to }),
          ...(cursor === undefined ? {} : { cursor }),
        },
      },
    }),
  )

/** Returns the names of the members and groups by their ids. */
function namesIn({ members, groups }: MembersAndGroups): ReadonlyMap<string, string> {
  return new Map([
    ...members.map((member) => [member.id, calledMember(member)] as const),
    ...groups.map(({ id, name }) => [id, name] as const),
  ])
}

/** What an event is about: a name, or else the id that other pages and commands show. */
const AboutActivity = (of: {
  readonly activity: Activity
  readonly names: ReadonlyMap<string, string>
}) => {
  const { organisation: texts } = messages()
  const { target, data } = of.activity
  const name = data['name'] ?? of.names.get(target ?? '')
  const role = ROLES.find((one) => one === data['role'])
  return (
    <>
      {name === undefined ? target !== null && <code>{target}</code> : <Name of={name} />}
      {role === undefined ? null : <span class="hint block">{texts[`role_${role}`]}</span>}
    </>
  )
}

const ActivityRow = (of: Parameters<typeof AboutActivity>[0]) => {
  const { organisation: texts } = messages()
  const { at, event, actor } = of.activity
  return (
    <tr>
      <td>
        <When at={at} />
      </td>
      <td>{texts[`event_${event}`]}</td>
      <td>{actor === null ? texts.system : <Name of={actor.display_name} />}</td>
      <td>
        <AboutActivity {...of} />
      </td>
    </tr>
  )
}

const ActivityTable = ({ days }: { readonly days: Days }) => {
  const { organisation: texts } = messages()
  const all = useMembersAndGroups().data.value
  const names = all === undefined ? new Map<string, string>() : namesIn(all)
  const list = usePagedList<Activity>(
    `${days.from} ${days.to}`,
    {
      read: ({ cursor }) => readPage(days, cursor),
      keyOf: ({ id }) => id,
      fits: () => true,
      wanted: 1,
    },
    ORGANISATION_CHANGES,
  )
  const items = list.shown
  return (
    <>
      {items === undefined ? null : items.length === 0 ? (
        <p>{texts.noActivity}</p>
      ) : (
        <TableBox label={texts.activity} heading={[texts.when, texts.event, texts.by, texts.about]}>
          {items.map((one) => (
            <ActivityRow key={one.id} activity={one} names={names} />
          ))}
        </TableBox>
      )}
      <MoreOfList of={list} />
    </>
  )
}

/** The activity of the organisation, with a choice of days. */
export const ActivityList = () => {
  const { organisation: texts } = messages()
  const from = useSignal('')
  const to = useSignal('')
  const days = useSignal<Days>({ from: '', to: '' })
  return (
    <section class="card">
      <h2>{texts.activity}</h2>
      <form
        class="pair"
        onSubmit={(event) => {
          event.preventDefault()
          days.value = { from: from.value, to: to.value }
        }}
      >
        <TextField label={texts.from} type="date" value={from} />
        <TextField label={texts.to} type="date" value={to} />
        <button type="submit">{texts.show}</button>
      </form>
      <ActivityTable days={days.value} />
    </section>
  )
}
