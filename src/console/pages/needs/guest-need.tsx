/** A guest code that ends soon: the user makes a new link for the guest, or lets the code end. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { reloadNeeds, type EndingGuest } from '../../data/needs.ts'
import { hrefOf } from '../../shell/router.ts'
import { filled, messages, MessageText } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Name } from '../../ui/person-name.tsx'
import { When } from '../../ui/when.tsx'
import { NeedCard, type Settle } from './need-card.tsx'

export const GuestNeed = (of: { readonly guest: EndingGuest; readonly settle: Settle }) => {
  const texts = messages().needs
  const { code, notification } = of.guest
  const { label, external_member_id } = code
  const name = <Name of={label} />
  const made = useSignal<Schemas['CreatedGuestCode'] | null>(null)
  const result = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // The button that had the focus is replaced.
    result.current?.focus()
  }, [made.value])
  const creation = useAction(async () => {
    made.value = await dataOf(
      api.POST('/api/v1/guest-codes', { body: { label, external_member_id } }),
    )
  })
  const leaving = useAction(async () => {
    await dataOf(api.POST('/api/v1/notifications/read', { body: { ids: [notification.id] } }))
    await reloadNeeds()
    of.settle(<MessageText of={texts.guestLeft} values={{ name }} />)
  })
  return (
    <NeedCard
      title={<MessageText of={texts.guest} values={{ name }} />}
      facts={<MessageText of={texts.until} values={{ when: <When at={code.expires_at} /> }} />}
    >
      {made.value === null ? (
        <p>{texts.guestText}</p>
      ) : (
        <div ref={result} tabIndex={-1}>
          <NoticeBox kind="ok">{texts.guestMade}</NoticeBox>
          <p>
            <Copyable value={made.value.url} label={filled(texts.guestLink, { name: label })} />
          </p>
        </div>
      )}
      <FailureNotice of={creation.failure} />
      <FailureNotice of={leaving.failure} />
      <div class="answers">
        {made.value === null ? (
          <ActionButton action={creation} kind="main">
            {texts.newLink}
          </ActionButton>
        ) : (
          <a class="button" href={hrefOf('people', made.value.id)}>
            {texts.toGuest}
          </a>
        )}
        <ActionButton action={leaving}>
          {made.value === null ? texts.letEnd : texts.done}
        </ActionButton>
      </div>
    </NeedCard>
  )
}
