/** The unread notifications. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { reloadNeeds } from '../../data/needs.ts'
import { hrefOf } from '../../shell/router.ts'
import { notificationTitle } from '../../text/notification-title.ts'
import { filled, messages } from '../../text/text.tsx'
import { AboutName } from '../../ui/about.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { When } from '../../ui/when.tsx'
import type { Settle } from './need-card.tsx'

type Notification = Schemas['Notification']

/** How many notifications are shown at first. */
const FIRST = 10

/** How many notifications one request marks as read. */
const AT_ONCE = 200

/** The page about an object that a notification names, by the member with its id. */
const PLACES: readonly (readonly [member: string, ...place: string[]])[] = [
  ['connection_id', 'people'],
  ['guest_code_id', 'people'],
  ['webhook_id', 'tokens'],
  ['device_id', 'devices'],
  ['export_id', 'settings'],
  ['email_id', 'settings'],
  ['organisation_id', 'organisation'],
]

/** Returns the address of the page about a notification; null if there is none. */
function placeOf({ data }: Notification): string | null {
  const found = PLACES.find(([member]) => data[member] !== undefined)
  if (found === undefined) return null
  const [member, page = ''] = found
  return page === 'people' ? hrefOf(page, data[member]!) : hrefOf(page)
}

async function markAsRead(ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += AT_ONCE)
    await dataOf(
      api.POST('/api/v1/notifications/read', { body: { ids: ids.slice(at, at + AT_ONCE) } }),
    )
  await reloadNeeds()
}

const NotificationRow = (of: {
  readonly notification: Notification
  /** Called before the row disappears. */
  readonly onRead: () => void
}) => {
  const texts = messages().needs
  const { id, kind, title, body, created_at } = of.notification
  const reading = useAction(async () => {
    await markAsRead([id])
    of.onRead()
  })
  const place = placeOf(of.notification)
  const known = notificationTitle(kind)
  return (
    <li class="notification">
      <div>
        <h3 tabIndex={-1}>{known ?? <ServerText text={title} lang="en" />}</h3>
        <p>
          <ServerText text={body} lang="en" />
        </p>
        <p class="facts">
          <When at={created_at} />
          {place === null ? null : (
            <>
              {' · '}
              <a href={place}>
                {texts.open}
                <AboutName of={known ?? title} />
              </a>
            </>
          )}
        </p>
        <FailureNotice of={reading.failure} />
      </div>
      <ActionButton action={reading} kind="small">
        {texts.markRead}
      </ActionButton>
    </li>
  )
}

export const NotificationList = (of: {
  readonly items: readonly Notification[]
  readonly settle: Settle
}) => {
  const texts = messages().needs
  const list = useRef<HTMLUListElement>(null)
  const most = useSignal(FIRST)
  /** The position of the row that disappeared last, so that the focus goes to the next one. */
  const removed = useRef<number | null>(null)
  const readAll = useAction(async () => {
    const { length: count } = of.items
    await markAsRead(of.items.map(({ id }) => id))
    of.settle(filled(texts.markedRead, { count }))
  })
  useEffect(() => {
    const at = removed.current
    removed.current = null
    if (at === null) return
    const titles = list.current?.querySelectorAll('h3') ?? []
    titles[Math.min(at, titles.length - 1)]?.focus()
  }, [of.items])
  const left = of.items.length - most.value
  return (
    <section class="card notifications">
      <div class="head">
        <h2>{texts.notifications}</h2>
        <ActionButton action={readAll} kind="small">
          {texts.markAllRead}
        </ActionButton>
      </div>
      <FailureNotice of={readAll.failure} />
      <ul class="rows" ref={list}>
        {of.items.slice(0, most.value).map((one, at) => (
          <NotificationRow
            key={one.id}
            notification={one}
            onRead={() => {
              if (of.items.length === 1) of.settle(filled(texts.markedRead, { count: 1 }))
              else removed.current = at
            }}
          />
        ))}
      </ul>
      {left > 0 ? (
        <button
          type="button"
          onClick={() => {
            most.value = of.items.length
          }}
        >
          {filled(texts.more, { count: left })}
        </button>
      ) : null}
    </section>
  )
}
