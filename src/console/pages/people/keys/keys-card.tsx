/** The keys of a person: whether they were compared, the safety number, and notes about them. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { confirmSafetyNumber } from '../../../data/needs.ts'
import { filled, MessageText, messages } from '../../../text/text.tsx'
import { ActionButton } from '../../../ui/button.tsx'
import { ConfirmedButton } from '../../../ui/confirmed-button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'
import { NoticeBox } from '../../../ui/notice.tsx'
import { OpenerButton } from '../../../ui/opener-button.tsx'
import { Loaded } from '../../../ui/page.tsx'
import { Name } from '../../../ui/person-name.tsx'
import { QrPicture } from '../../../ui/qr-picture.tsx'
import { SafetyNumber } from '../../../ui/safety-number.tsx'
import { When } from '../../../ui/when.tsx'
import { CardForm } from './card-form.tsx'
import { KeyHistory } from './key-history.tsx'
import { useTrustCards } from '../people-data.ts'

type TrustCard = Schemas['TrustCard']

const paramsOf = (account: string) => ({ params: { path: { id: account } } })

/** What is the case with the keys, and what to do. */
const KeyNotices = ({ of }: { readonly of: TrustCard }) => {
  const { people } = messages()
  const { key_status, recovered_at, recovery_key_unused, name_changed, own_name, user_id } = of
  const dismiss = useAction(() =>
    dataOf(
      api.PATCH('/api/v1/trust-cards/{id}', {
        ...paramsOf(user_id),
        body: { recovery_seen: true },
      }),
    ),
  )
  return (
    <>
      {key_status === 'changed_unverified' ? (
        <NoticeBox kind="bad">
          {people.keysAreNew} {recovery_key_unused ? people.recoveryUnused : null}
        </NoticeBox>
      ) : key_status === 'confirmed' ? (
        <NoticeBox kind="ok">{people.keysAreConfirmed}</NoticeBox>
      ) : (
        <p>{people.keysAreUnchanged}</p>
      )}
      {recovered_at === null ? null : (
        <NoticeBox kind="warn">
          <MessageText
            of={people.keysRecoveredText}
            values={{ time: <When at={recovered_at} /> }}
          />{' '}
          <ActionButton action={dismiss}>{people.dismiss}</ActionButton>
        </NoticeBox>
      )}
      <FailureNotice of={dismiss.failure} />
      {name_changed && own_name !== null ? (
        <NoticeBox kind="warn">
          <MessageText of={people.nameChanged} values={{ name: <Name of={own_name} /> }} />
        </NoticeBox>
      ) : null}
    </>
  )
}

const NumberToCompare = ({ of }: { readonly of: TrustCard }) => {
  const { people } = messages()
  const { safety_number: digits, key_status, user_id } = of
  const isQr = useSignal(false)
  if (digits === null) return <p>{people.noSafetyNumber}</p>
  return (
    <>
      <h3>{people.safetyNumber}</h3>
      <SafetyNumber label={people.safetyNumber} digits={digits} />
      <p class="hint">{people.safetyNumberHint}</p>
      {isQr.value ? <QrPicture of={digits.replace(/\D/g, '')} alt={people.safetyQrAlt} /> : null}
      <div class="answers">
        {key_status === 'confirmed' ? null : (
          <OpenerButton label={people.confirmKeys} kind="main">
            {(close) => (
              <ConfirmDialog
                title={people.confirmTitle}
                confirm={people.confirmYes}
                work={() => confirmSafetyNumber(user_id, digits)}
                onClose={close}
              >
                <SafetyNumber label={people.safetyNumber} digits={digits} />
                <p>{people.confirmText}</p>
              </ConfirmDialog>
            )}
          </OpenerButton>
        )}
        <button
          type="button"
          aria-expanded={isQr.value}
          onClick={() => {
            isQr.value = !isQr.value
          }}
        >
          {people.safetyQr}
        </button>
      </div>
    </>
  )
}

/**
 * Shows the card of an account, or how to follow it.
 * @param of `account`: the id of the account; `name`: as the connection lists it
 */
export const KeysCard = (of: {
  readonly account: string
  readonly name: string
  /** Reads what shows the name of this person. */
  readonly onRename?: () => Promise<unknown>
}) => {
  const { people } = messages()
  const { account } = of
  const cards = useTrustCards()
  const follow = useAction(async () => {
    await dataOf(api.POST('/api/v1/trust-cards', { body: { user_id: account } }))
    await cards.reload()
  })
  return (
    <section class="card">
      <h2>{people.keysTitle}</h2>
      <Loaded from={cards}>
        {(all) => {
          const card = all.find(({ user_id }) => user_id === account)
          return card === undefined ? (
            <>
              <p>{people.followLead}</p>
              <ActionButton action={follow}>{people.follow}</ActionButton>
              <FailureNotice of={follow.failure} />
            </>
          ) : (
            <>
              <KeyNotices of={card} />
              <NumberToCompare of={card} />
              <CardForm
                key={account}
                of={card}
                onSaved={() => Promise.all([cards.reload(), of.onRename?.()])}
              />
              <KeyHistory account={account} />
              <div class="answers">
                <ConfirmedButton
                  label={people.unfollow}
                  kind="danger"
                  title={filled(people.unfollowTitle, { name: displayedName(of.name) })}
                  confirm={people.unfollow}
                  work={async () => {
                    await dataOf(api.DELETE('/api/v1/trust-cards/{id}', paramsOf(account)))
                    await cards.reload()
                  }}
                >
                  {people.unfollowText}
                </ConfirmedButton>
              </div>
            </>
          )
        }}
      </Loaded>
    </section>
  )
}
