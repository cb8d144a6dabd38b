/** A request of a person at an open link. */
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { reloadNeeds } from '../../data/needs.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { Name } from '../../ui/person-name.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { When } from '../../ui/when.tsx'
import { NeedCard, type Settle } from './need-card.tsx'

export const RequestNeed = (of: {
  readonly request: Schemas['OpenLinkRequest']
  /** The title of the open link; undefined until it was read. */
  readonly link: string | undefined
  readonly settle: Settle
}) => {
  const texts = messages().needs
  const { id, requester, message, created_at } = of.request
  const path = { params: { path: { id } } }
  const email = <Name of={requester.email} />
  const approval = useAction(async () => {
    await dataOf(api.POST('/api/v1/open-links/requests/{id}/approve', path))
    await reloadNeeds()
    of.settle(<MessageText of={texts.requestApproved} values={{ email }} />)
  })
  const decline = async () => {
    await dataOf(api.POST('/api/v1/open-links/requests/{id}/decline', path))
    await reloadNeeds()
    of.settle(<MessageText of={texts.requestDeclined} values={{ email }} />)
  }
  return (
    <NeedCard
      title={
        <MessageText of={texts.request} values={{ name: <Name of={requester.display_name} /> }} />
      }
      facts={
        <>
          {email}
          {of.link === undefined ? null : (
            <>
              {' · '}
              <MessageText of={texts.requestVia} values={{ link: <Name of={of.link} /> }} />
            </>
          )}
          {' · '}
          <When at={created_at} />
        </>
      }
    >
      {message === null ? null : (
        <blockquote>
          <ServerText text={message} />
        </blockquote>
      )}
      <p>{texts.requestText}</p>
      <FailureNotice of={approval.failure} />
      <div class="answers">
        <ActionButton action={approval} kind="main">
          {texts.approve}
        </ActionButton>
        <ConfirmedButton
          label={texts.decline}
          title={texts.declineRequest}
          confirm={texts.declineRequest}
          work={decline}
        >
          {texts.declineRequestText}
        </ConfirmedButton>
      </div>
    </NeedCard>
  )
}
