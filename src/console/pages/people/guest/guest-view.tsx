/** The page of a guest: how the guest gets the link, the own words, and the end of the code. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { thisMinute } from '../../../data/clock.ts'
import { hrefOf } from '../../../shell/router.ts'
import { daemonStatus } from '../../../data/status.ts'
import { filled, messages, timeExact } from '../../../text/text.tsx'
import { CommandText } from '../../../ui/command.tsx'
import { Copyable } from '../../../ui/copyable.tsx'
import { ConfirmedButton } from '../../../ui/confirmed-button.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { useResultFocus } from '../../../ui/focus.ts'
import { ActionForm } from '../../../ui/form.tsx'
import { NoticeBox } from '../../../ui/notice.tsx'
import { Loaded, PageFrame } from '../../../ui/page.tsx'
import { Name } from '../../../ui/person-name.tsx'
import { When } from '../../../ui/when.tsx'
import { CheckHistory } from '../check-history.tsx'
import { GuestQr } from './guest-qr.tsx'
import { GuestSheet } from './guest-sheet.tsx'
import { keepMadeLink, madeLink } from './made-link.ts'
import { useGuestCodes } from '../people-data.ts'
import { stateOfGuest } from '../people-rows.ts'
import { WordsOnRequest } from '../words-on-request.tsx'
import { PersonStateText } from '../person-state.tsx'

type GuestCode = Schemas['GuestCode']

/** The link, once, after the code was made. */
const MadeLink = ({ id }: { readonly id: string }) => {
  const { people } = messages()
  const link = madeLink.value
  if (link?.id !== id) return null
  return (
    <NoticeBox kind="ok">
      {people.guestLinkOnce}
      <p>
        <Copyable value={link.url} label={people.guestLinkCopy}>
          <code translate={false}>{link.url}</code>
        </Copyable>
      </p>
    </NoticeBox>
  )
}

/** The QR code, which is shown only on request: others may look at the screen. */
const QrCard = ({ of, onPrint }: { readonly of: GuestCode; readonly onPrint: () => void }) => {
  const { people } = messages()
  const isShown = useSignal(madeLink.peek()?.id === of.id)
  return (
    <section class="card">
      <h2>{people.guestQr}</h2>
      <p class="hint">{people.guestQrHint}</p>
      {isShown.value ? <GuestQr of={of} /> : null}
      <div class="answers">
        <button
          type="button"
          aria-expanded={isShown.value}
          onClick={() => {
            isShown.value = !isShown.value
          }}
        >
          {isShown.value ? people.guestQrHide : people.guestQrShow}
        </button>
        <button
          type="button"
          onClick={() => {
            // If the code cannot be read, the page shows why.
            isShown.value = true
            onPrint()
          }}
        >
          {people.guestPrint}
        </button>
      </div>
    </section>
  )
}

const MailCard = ({ of }: { readonly of: GuestCode }) => {
  const { people } = messages()
  const { id } = of
  const address = useSignal('')
  const sent = useSignal<{ readonly to: string; readonly isMailed: boolean } | null>(null)
  const send = useAction(async () => {
    const to = address.value.trim()
    const params = { path: { id } }
    sent.value = null
    const { mailed } = await dataOf(
      api.POST('/api/v1/guest-codes/{id}/send', { params, body: { to } }),
    )
    sent.value = { to, isMailed: mailed !== false }
    address.value = ''
  })
  return (
    <section class="card">
      <h2>{people.guestSend}</h2>
      {daemonStatus.value?.reachable === 'this_machine' ? (
        <p class="hint">{people.guestSendHere}</p>
      ) : null}
      <ActionForm action={send} submit={people.guestSend}>
        <TextField
          label={people.guestSendTo}
          hint={people.guestSendHint}
          type="email"
          value={address}
          required
        />
      </ActionForm>
      {sent.value === null ? null : (
        <NoticeBox kind={sent.value.isMailed ? 'ok' : 'warn'}>
          {filled(sent.value.isMailed ? people.guestSent : people.guestOnlyStored, {
            address: sent.value.to,
          })}
        </NoticeBox>
      )}
    </section>
  )
}

const GuestFacts = ({ of }: { readonly of: GuestCode }) => {
  const { people } = messages()
  return (
    <section class="card">
      <h2>{people.details}</h2>
      <dl>
        <dt>{people.guestState}</dt>
        <dd>
          <PersonStateText state={stateOfGuest(of, thisMinute.value)} until={of.expires_at} />
        </dd>
        <dt>{people.guestEnd}</dt>
        <dd>{timeExact(of.expires_at)}</dd>
        <dt>{people.guestOpened}</dt>
        <dd>
          <When at={of.last_opened_at} />
        </dd>
        {of.external_member === null ? null : (
          <>
            <dt>{people.guestForLabel}</dt>
            <dd>
              <Name of={of.external_member.display_name} />
            </dd>
          </>
        )}
        <dt>{people.id}</dt>
        <dd>
          <Copyable label={people.id} value={of.id}>
            <code translate={false}>{of.id}</code>
          </Copyable>
        </dd>
      </dl>
    </section>
  )
}

/** Appears in place of the button that revoked the code. */
const GuestOver = () => (
  <div ref={useResultFocus()} tabIndex={-1}>
    <p>{messages().people.guestOver}</p>
  </div>
)

export const GuestView = ({ id }: { readonly id: string }) => {
  const { people, frame } = messages()
  const guests = useGuestCodes()
  const isPrinting = useSignal(false)
  const found = guests.data.value?.find((one) => one.id === id)
  return (
    <PageFrame
      title={found === undefined ? people.guest : displayedName(found.label)}
      back={{ href: hrefOf('people'), text: people.backToPeople }}
      actions={
        found?.state !== 'active' ? undefined : (
          <>
            <a class="button main" href={hrefOf('call', id)}>
              {people.call}
            </a>
            <ConfirmedButton
              label={people.guestRevoke}
              kind="danger"
              title={filled(people.guestRevokeTitle, { name: displayedName(found.label) })}
              confirm={people.guestRevoke}
              work={async () => {
                await dataOf(api.DELETE('/api/v1/guest-codes/{id}', { params: { path: { id } } }))
                keepMadeLink(null)
                await guests.reload()
              }}
            >
              {people.guestRevokeText}
            </ConfirmedButton>
          </>
        )
      }
    >
      <Loaded from={guests}>
        {() =>
          found === undefined ? (
            <p>{frame.notFound}</p>
          ) : found.state === 'active' ? (
            <>
              <MadeLink id={id} />
              {daemonStatus.value?.reachable === 'this_machine' ? (
                <NoticeBox kind="warn">
                  {people.onlyHere} <CommandText of="countersignd publish" />
                </NoticeBox>
              ) : null}
              <WordsOnRequest id={id} />
              <div class="grid">
                <QrCard
                  of={found}
                  onPrint={() => {
                    isPrinting.value = true
                  }}
                />
                <MailCard of={found} />
              </div>
              <CheckHistory of={id} />
              <GuestFacts of={found} />
            </>
          ) : (
            <>
              <GuestOver />
              <CheckHistory of={id} />
              <GuestFacts of={found} />
            </>
          )
        }
      </Loaded>
      {isPrinting.value && found !== undefined ? (
        <GuestSheet
          of={found}
          onEnd={() => {
            isPrinting.value = false
          }}
        />
      ) : null}
    </PageFrame>
  )
}
