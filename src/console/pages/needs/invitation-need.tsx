/** An invitation to a connection, with what its approval means. */
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { contactFor, reloadNeeds } from '../../data/needs.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { Name, PersonNameText } from '../../ui/person-name.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { When } from '../../ui/when.tsx'
import { InviterWords } from './inviter-words.tsx'
import { NeedCard, type Settle } from './need-card.tsx'

type Invitation = Schemas['Invitation']

const Inviter = ({ from }: Pick<Invitation, 'from'>) => {
  const texts = messages().needs
  const { display_name, name_source, name_marks, email } = from
  if (display_name === null || name_source === null)
    return email === null ? null : (
      <MessageText of={texts.from} values={{ name: <Name of={email} /> }} />
    )
  const name = <PersonNameText of={{ display_name, name_source, name_marks }} />
  return email === null ? (
    <MessageText of={texts.from} values={{ name }} />
  ) : (
    <MessageText of={texts.fromMail} values={{ name, email: <Name of={email} /> }} />
  )
}

export const InvitationNeed = (of: {
  readonly invitation: Invitation
  readonly settle: Settle
}) => {
  const texts = messages().needs
  const { id, connection_name, message, expires_at } = of.invitation
  const connection = <Name of={connection_name} />
  const path = { params: { path: { id } } }
  const onApproved = () => {
    of.settle(<MessageText of={texts.approved} values={{ connection }} />)
  }
  const approval = useAction(async () => {
    await dataOf(api.POST('/api/v1/invitations/{id}/approve', path))
    await reloadNeeds()
    onApproved()
  })
  const decline = async () => {
    await dataOf(api.POST('/api/v1/invitations/{id}/decline', path))
    await reloadNeeds()
    of.settle(<MessageText of={texts.invitationDeclined} values={{ connection }} />)
  }
  return (
    <NeedCard
      title={<MessageText of={texts.invitation} values={{ connection }} />}
      facts={
        <>
          <Inviter from={of.invitation.from} /> ·{' '}
          <MessageText of={texts.until} values={{ when: <When at={expires_at} /> }} />
        </>
      }
    >
      {message === null ? null : (
        <blockquote>
          <ServerText text={message} />
        </blockquote>
      )}
      <p>{texts.invitationText}</p>
      <details open={contactFor(id) !== undefined}>
        <summary>{texts.hasWords}</summary>
        <InviterWords invitation={of.invitation} onApproved={onApproved} />
      </details>
      <FailureNotice of={approval.failure} />
      <div class="answers">
        <ActionButton action={approval}>{texts.approve}</ActionButton>
        <ConfirmedButton
          label={texts.decline}
          title={texts.declineInvitation}
          confirm={texts.declineInvitation}
          work={decline}
        >
          {texts.declineInvitationText}
        </ConfirmedButton>
      </div>
    </NeedCard>
  )
}
