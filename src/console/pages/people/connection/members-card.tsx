/** The members of a connection, with what an owner may do. */
import { useSignal, type Signal } from '@preact/signals'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { thisMinute } from '../../../data/clock.ts'
import { hrefOf } from '../../../shell/router.ts'
import { filled, messages, timeShort } from '../../../text/text.tsx'
import { AboutName } from '../../../ui/about.tsx'
import { ActionButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'
import { Name, PersonNameText } from '../../../ui/person-name.tsx'
import { TableBox } from '../../../ui/table-box.tsx'
import { ContactWordsCard } from './contact-words-card.tsx'
import { InviteForm } from './invite-form.tsx'
import { useSentInvitations, useTrustCards } from '../people-data.ts'
import { invitationOf } from '../people-rows.ts'
import { WithdrawDialog } from '../withdraw-dialog.tsx'

type Member = Schemas['Member']
type Invitation = Schemas['Invitation']

const KEYS = {
  confirmed: 'keysConfirmed',
  unchanged: 'keysUnchanged',
  changed_unverified: 'newKeys',
} as const

/** The state of a member's keys, with a link to them. */
const MemberKeys = ({ of, card }: { of: Member; card: Schemas['TrustCard'] | undefined }) => {
  const { people } = messages()
  if (of.user_id === null || of.name_source === 'own') return null
  return (
    <a href={hrefOf('people', of.user_id)}>
      {card === undefined ? people.notFollowed : people[KEYS[card.key_status]]}
      <AboutName of={of.display_name} />
    </a>
  )
}

/** Makes new four words for an open invitation. */
const NewWords = (of: {
  readonly invitation: Invitation
  readonly name: string
  readonly onMade: (words: Schemas['ContactWords']) => void
}) => {
  const { people } = messages()
  const { id } = of.invitation
  const action = useAction(async () => {
    const params = { path: { id } }
    of.onMade(await dataOf(api.POST('/api/v1/invitations/{id}/words', { params })))
  })
  return (
    <>
      <ActionButton action={action} kind="small" about={of.name}>
        {people.newFourWords}
      </ActionButton>
      <FailureNotice of={action.failure} />
    </>
  )
}

/** Returns the role of a member, or how far an invited person is. */
function placeOf({ state, role }: Member, invitation: Invitation | undefined): string {
  const { people } = messages()
  if (state === 'active') return people[role]
  if (invitation === undefined) return people.invited
  if (invitation.state === 'approved') return people.approved
  return filled(people.invitedUntil, { time: timeShort(invitation.expires_at, thisMinute.value) })
}

type Asked =
  | { readonly kind: 'remove' | 'makeOwner' | 'makeMember'; readonly member: Member }
  | { readonly kind: 'withdraw'; readonly invitation: Invitation }

/** The button that opens the question about a member. */
const AskButton = (of: {
  readonly asked: Extract<Asked, { member: Member }>
  readonly onAsk: Signal<Asked | null>
}) => {
  const { people } = messages()
  const { kind, member } = of.asked
  return (
    <button
      type="button"
      class="small"
      onClick={() => {
        of.onAsk.value = of.asked
      }}
    >
      {people[kind]}
      <AboutName of={member.display_name} />
    </button>
  )
}

/** Asks before a member is removed or gets another role. */
const MemberDialog = (of: {
  readonly connection: string
  readonly asked: Extract<Asked, { member: Member }>
  readonly onDone: () => Promise<unknown>
  readonly onClose: () => void
}) => {
  const { people } = messages()
  const { kind, member } = of.asked
  const name = displayedName(member.display_name)
  const path = { id: of.connection, mid: member.id }
  const work = {
    remove: () =>
      dataOf(api.DELETE('/api/v1/connections/{id}/members/{mid}', { params: { path } })),
    makeOwner: () => setRole('owner'),
    makeMember: () => setRole('member'),
  }
  const setRole = (role: Member['role']) =>
    dataOf(
      api.POST('/api/v1/connections/{id}/members/{mid}/role', { params: { path }, body: { role } }),
    )
  return (
    <ConfirmDialog
      title={filled(people[`${kind}Of`], { name })}
      confirm={people[kind]}
      danger={kind === 'remove'}
      onClose={of.onClose}
      work={async () => {
        await work[kind]()
        await of.onDone()
      }}
    >
      <p>{people[`${kind}Text`]}</p>
    </ConfirmDialog>
  )
}

/**
 * Shows the members.
 * @param of `onChange`: reads the connection again
 */
export const MembersCard = (of: {
  readonly connection: Schemas['Connection']
  readonly onChange: () => Promise<void>
}) => {
  const { people } = messages()
  const { id, members, state, kind } = of.connection
  const cards = useTrustCards()
  const invitations = useSentInvitations()
  const asked = useSignal<Asked | null>(null)
  const words = useSignal<Schemas['ContactWords'] | null>(null)
  const isOwner = members.some(({ name_source, role }) => name_source === 'own' && role === 'owner')
  const mayChange = isOwner && state !== 'ended'
  const reload = () => Promise.all([invitations.reload(), of.onChange()])
  const close = () => {
    asked.value = null
  }

  const actionsOf = (member: Member) => {
    const name = member.display_name
    if (member.state === 'invited') {
      const invitation = invitationOf(invitations.data.value ?? [], id, member)
      // Another owner has sent it.
      if (invitation === undefined)
        return <AskButton asked={{ kind: 'remove', member }} onAsk={asked} />
      return invitation.state === 'approved' ? null : (
        <>
          <NewWords
            invitation={invitation}
            name={name}
            onMade={(made) => {
              words.value = made
            }}
          />
          <button
            type="button"
            class="small"
            onClick={() => {
              asked.value = { kind: 'withdraw', invitation }
            }}
          >
            {people.withdraw}
            <AboutName of={name} />
          </button>
        </>
      )
    }
    if (member.name_source === 'own') return null
    return (
      <>
        <AskButton
          asked={{ kind: member.role === 'owner' ? 'makeMember' : 'makeOwner', member }}
          onAsk={asked}
        />
        <AskButton asked={{ kind: 'remove', member }} onAsk={asked} />
      </>
    )
  }

  return (
    <section class="card members">
      <h2>{people.members}</h2>
      <TableBox
        label={people.members}
        heading={[people.name, people.role, people.keys, ...(mayChange ? [people.actions] : [])]}
      >
        {members.map((member) => {
          const card = cards.data.value?.find(({ user_id }) => user_id === member.user_id)
          const invitation = invitationOf(invitations.data.value ?? [], id, member)
          return (
            <tr key={member.id}>
              <th scope="row">
                {member.user_id === null ? (
                  // An invited address has no other name.
                  <Name of={member.display_name} />
                ) : (
                  <PersonNameText of={member} />
                )}
                {member.name_source === 'own' ? ` (${people.you})` : null}
              </th>
              <td>{placeOf(member, invitation)}</td>
              <td>
                <MemberKeys of={member} card={card} />
              </td>
              {mayChange ? (
                <td>
                  <div class="answers">{actionsOf(member)}</div>
                </td>
              ) : null}
            </tr>
          )
        })}
      </TableBox>
      {words.value === null ? null : (
        <ContactWordsCard
          key={words.value.words}
          of={words.value}
          onAgain={(made) => {
            words.value = made
          }}
        />
      )}
      {mayChange ? (
        <InviteForm connection={id} isDirect={kind === 'direct'} onDone={reload} />
      ) : null}
      {asked.value === null ? null : asked.value.kind === 'withdraw' ? (
        <WithdrawDialog of={asked.value.invitation} onDone={reload} onClose={close} />
      ) : (
        <MemberDialog connection={id} asked={asked.value} onDone={reload} onClose={close} />
      )}
    </section>
  )
}
