/** A person with changed keys: the user compares the safety number, and confirms the keys. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { confirmSafetyNumber } from '../../data/needs.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { OpenerButton } from '../../ui/opener-button.tsx'
import { Name, PersonNameText } from '../../ui/person-name.tsx'
import { SafetyNumber } from '../../ui/safety-number.tsx'
import { NeedCard, type Settle } from './need-card.tsx'

type Person = Schemas['Status']['changed_keys'][number]

const CompareDialog = (of: {
  readonly person: Person
  readonly onConfirmed: () => void
  readonly onClose: () => void
}) => {
  const texts = messages().needs
  const { user_id: id } = of.person
  const card = useSignal<Schemas['TrustCard'] | null>(null)
  // An empty change fetches the newest keys, because the stored ones may be older.
  const reading = useAction(async () => {
    card.value = await dataOf(
      api.PATCH('/api/v1/trust-cards/{id}', { params: { path: { id } }, body: {} }),
    )
  })
  useEffect(() => void reading.run(), [id])
  const number = card.value?.safety_number ?? null
  const confirmation = useAction(async () => {
    await confirmSafetyNumber(id, number!)
    of.onConfirmed()
  })
  return (
    <Dialog title={texts.compare} onClose={of.onClose}>
      <p>
        <PersonNameText of={of.person} />
      </p>
      <FailureNotice of={reading.failure} />
      {card.value === null ? null : number === null ? (
        <p>{texts.noNumber}</p>
      ) : (
        <>
          {card.value.recovery_key_unused ? (
            <NoticeBox kind="warn">{texts.keysUnused}</NoticeBox>
          ) : null}
          <p>{texts.compareText}</p>
          <SafetyNumber label={texts.safetyNumber} digits={number} />
          <p class="hint">{texts.differ}</p>
        </>
      )}
      <FailureNotice of={confirmation.failure} />
      <div class="answers">
        {number === null ? null : (
          <ActionButton action={confirmation} kind="main">
            {texts.allSame}
          </ActionButton>
        )}
        <button type="button" onClick={of.onClose}>
          {messages().common.cancel}
        </button>
      </div>
    </Dialog>
  )
}

export const KeysNeed = (of: { readonly person: Person; readonly settle: Settle }) => {
  const texts = messages().needs
  return (
    <NeedCard
      title={<MessageText of={texts.keys} values={{ name: <PersonNameText of={of.person} /> }} />}
    >
      <p>{texts.keysText}</p>
      <OpenerButton label={texts.compare} kind="main">
        {(close) => (
          <CompareDialog
            person={of.person}
            onClose={close}
            onConfirmed={() => {
              close()
              const name = <Name of={of.person.display_name} />
              of.settle(<MessageText of={texts.confirmed} values={{ name }} />)
            }}
          />
        )}
      </OpenerButton>
    </NeedCard>
  )
}
