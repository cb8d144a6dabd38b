/** The e-mail addresses of the account. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Loaded } from '../../ui/page.tsx'
import { SettingSection } from './setting-section.tsx'

const readAddresses = () =>
  allItems((query) => dataOf(api.GET('/api/v1/emails', { params: { query } })))

const AddressRow = ({ of: { address, primary, verified } }: { readonly of: Schemas['Email'] }) => {
  const { settings } = messages()
  return (
    <li>
      <bdi>{address}</bdi>
      {primary ? <span class="badge">{settings.primary}</span> : null}
      {verified ? null : (
        <span class="badge" data-kind="warn">
          {settings.unconfirmed}
        </span>
      )}
    </li>
  )
}

/** The section of the addresses. */
export const AddressSettings = () => {
  const { settings } = messages()
  const addresses = useResource('addresses', readAddresses, ['session.*', 'sync.done'])
  const address = useSignal('')
  const added = useSignal<Schemas['AddedEmail'] | null>(null)
  const add = useAction(async () => {
    added.value = null
    const email = await dataOf(
      api.POST('/api/v1/emails', { body: { address: address.value.trim() } }),
    )
    added.value = email
    address.value = ''
    await addresses.reload()
  })
  return (
    <SettingSection title={settings.addresses} lead={settings.addressesLead}>
      <Loaded from={addresses}>
        {(items) =>
          items.length === 0 ? (
            <p>{settings.noAddress}</p>
          ) : (
            <ul class="rows lines">
              {items.map((email) => (
                <AddressRow key={email.id} of={email} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <ActionForm action={add} submit={settings.addAddress}>
        <TextField
          label={settings.newAddress}
          type="email"
          value={address}
          required
          hint={settings.newAddressHint}
        />
      </ActionForm>
      {added.value === null ? null : (
        <NoticeBox kind={added.value.mailed === false ? 'warn' : 'ok'}>
          <MessageText
            of={added.value.mailed === false ? settings.addressOnlyStored : settings.confirmAddress}
            values={{ address: <bdi>{added.value.address}</bdi> }}
          />
        </NoticeBox>
      )}
    </SettingSection>
  )
}
