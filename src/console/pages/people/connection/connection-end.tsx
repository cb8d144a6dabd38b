/** What changes a connection for all members: a new secret, and leaving or ending it. */
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { goTo } from '../../../shell/router.ts'
import { filled, messages } from '../../../text/text.tsx'
import { Copyable } from '../../../ui/copyable.tsx'
import { ConfirmedButton } from '../../../ui/confirmed-button.tsx'
import { When } from '../../../ui/when.tsx'

/** What the deletion of a connection does, by the role of this account. */
type EndKind = 'leave' | 'endForAll' | 'delete' | 'deleteEnded'

function endOf({ state, members }: Schemas['Connection']): EndKind {
  if (state === 'ended') return 'deleteEnded'
  const active = members.filter((member) => member.state === 'active')
  if (active.length < 2) return 'delete'
  const owners = active.filter(({ role }) => role === 'owner')
  return owners.length === 1 && owners[0]!.name_source === 'own' ? 'endForAll' : 'leave'
}

const TEXTS = {
  leave: ['leave', 'leaveTitle', 'leaveText'],
  endForAll: ['endForAll', 'endTitle', 'endText'],
  delete: ['delete', 'deleteTitle', 'deleteText'],
  deleteEnded: ['delete', 'deleteTitle', 'deleteEndedText'],
} as const

/**
 * Shows the facts of a connection, and the buttons.
 * @param of `onChange`: called with the connection as it is now
 */
export const ConnectionEnd = (of: {
  readonly connection: Schemas['Connection']
  readonly onChange: (connection: Schemas['Connection']) => void
}) => {
  const { people } = messages()
  const { connection } = of
  const { id, state } = connection
  const name = displayedName(connection.name)
  const [button, title, text] = TEXTS[endOf(connection)]
  const params = { path: { id } }
  return (
    <section class="card">
      <h2>{people.secret}</h2>
      <dl>
        <dt>{people.created}</dt>
        <dd>
          <When at={connection.created_at} />
        </dd>
        <dt>{people.secretNumber}</dt>
        <dd>
          {filled(people.secretNumberText, { number: connection.epoch })}
          <p class="hint">{people.secretNumberHint}</p>
        </dd>
        <dt>{people.id}</dt>
        <dd>
          <Copyable label={people.id} value={id}>
            <code translate={false}>{id}</code>
          </Copyable>
        </dd>
      </dl>
      <div class="answers">
        {state === 'active' ? (
          <ConfirmedButton
            label={people.rotate}
            title={filled(people.rotateTitle, { name })}
            confirm={people.rotate}
            isHarmless
            work={async () => {
              of.onChange(await dataOf(api.POST('/api/v1/connections/{id}/rotation', { params })))
            }}
          >
            {people.rotateText}
          </ConfirmedButton>
        ) : null}
        <ConfirmedButton
          label={people[button]}
          kind="danger"
          title={filled(people[title], { name })}
          confirm={people[button]}
          work={async () => {
            await dataOf(api.DELETE('/api/v1/connections/{id}', { params }))
            goTo('people')
          }}
        >
          {people[text]}
        </ConfirmedButton>
      </div>
    </section>
  )
}
