/** What needs the user, with the decision in place. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { allItems, api, dataOf } from '../../data/api.ts'
import { countOf, needs, needsFailure, type Needs } from '../../data/needs.ts'
import { useResource } from '../../data/resource.ts'
import { messages } from '../../text/text.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { ActionResult } from '../../ui/action-result.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { RightsNotice } from '../../ui/rights-notice.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { DesktopPermission } from './desktop-permission.tsx'
import { DeviceNeed } from './device-need.tsx'
import { ForkNeed } from './fork-need.tsx'
import { GuestNeed } from './guest-need.tsx'
import { InvitationNeed } from './invitation-need.tsx'
import { KeysNeed } from './keys-need.tsx'
import { NeedCard, type Settle } from './need-card.tsx'
import { NotificationList } from './notification-list.tsx'
import { RequestNeed } from './request-need.tsx'
import { SyncNeed } from './sync-need.tsx'

/** Returns the title of an open link by its id. */
function useLinkTitles(): (id: string) => string | undefined {
  const links = useResource(
    'open-link-titles',
    () => allItems((query) => dataOf(api.GET('/api/v1/open-links', { params: { query } }))),
    ['open_link_request.received'],
  )
  return (id) => links.data.value?.find((link) => link.id === id)?.title
}

const NeedList = ({ of, settle }: { readonly of: Needs; readonly settle: Settle }) => {
  const texts = messages().needs
  const linkTitle = useLinkTitles()
  return (
    <ul class="plain-list" aria-label={texts.list}>
      {of.notices.map((text) => (
        <NeedCard key={text} title={texts.notice}>
          <p>
            <ServerText text={text} lang="en" />
          </p>
        </NeedCard>
      ))}
      {of.keys.map((person) => (
        <KeysNeed key={person.user_id} person={person} settle={settle} />
      ))}
      {of.forks.map((connection) => (
        <ForkNeed key={connection.id} connection={connection} />
      ))}
      {of.devices.map((device) => (
        <DeviceNeed key={device.id} device={device} settle={settle} />
      ))}
      {of.invitations.map((invitation) => (
        <InvitationNeed key={invitation.id} invitation={invitation} settle={settle} />
      ))}
      {of.requests.map((request) => (
        <RequestNeed
          key={request.id}
          request={request}
          link={linkTitle(request.open_link_id)}
          settle={settle}
        />
      ))}
      {of.guests.map((guest) => (
        <GuestNeed key={guest.code.id} guest={guest} settle={settle} />
      ))}
      {of.syncs.map((error) => (
        <SyncNeed key="sync" error={error} settle={settle} />
      ))}
    </ul>
  )
}

const AllNeeds = ({ of, settle }: { readonly of: Needs; readonly settle: Settle }) => {
  const texts = messages().needs
  const { notifications } = of
  const count = countOf(of)
  if (count + notifications.length === 0)
    return (
      <section class="card empty">
        <h2>{texts.nothing}</h2>
        <p>{texts.nothingLead}</p>
      </section>
    )
  return (
    <>
      <RightsNotice needs="write" />
      {count > 0 ? <NeedList of={of} settle={settle} /> : null}
      {notifications.length > 0 ? <NotificationList items={notifications} settle={settle} /> : null}
    </>
  )
}

export default function NeedsPage() {
  const { frame, needs: texts } = messages()
  const outcome = useSignal<ComponentChildren>(null)
  const found = needs.value
  return (
    <PageFrame title={frame.needs} lead={texts.lead}>
      <ActionResult of={outcome} />
      <FailureNotice of={needsFailure} />
      {found !== null ? (
        <AllNeeds
          of={found}
          settle={(result) => {
            outcome.value = result
          }}
        />
      ) : (
        needsFailure.value === null && <p role="status">{frame.loading}</p>
      )}
      <DesktopPermission />
    </PageFrame>
  )
}
