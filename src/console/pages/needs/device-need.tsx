/** A new device of the account that waits for approval. */
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { hrefOf } from '../../shell/router.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { Name } from '../../ui/person-name.tsx'
import { When } from '../../ui/when.tsx'
import { NeedCard, type Settle } from './need-card.tsx'

export const DeviceNeed = (of: {
  readonly device: Schemas['Status']['waiting_devices'][number]
  readonly settle: Settle
}) => {
  const texts = messages().needs
  const { id, name: deviceName, created_at } = of.device
  const name = <Name of={deviceName} />
  const decline = async () => {
    await dataOf(api.DELETE('/api/v1/devices/{id}', { params: { path: { id } } }))
    of.settle(<MessageText of={texts.deviceDeclined} values={{ name }} />)
  }
  return (
    <NeedCard
      title={<MessageText of={texts.device} values={{ name }} />}
      facts={<MessageText of={texts.since} values={{ when: <When at={created_at} /> }} />}
    >
      <p>{texts.deviceText}</p>
      <div class="answers">
        <a class="button main" href={hrefOf('devices', 'approve', id)}>
          {texts.approveDevice}
        </a>
        <ConfirmedButton
          label={texts.decline}
          title={texts.declineDevice}
          confirm={texts.declineDevice}
          work={decline}
        >
          {texts.declineDeviceText}
        </ConfirmedButton>
      </div>
    </NeedCard>
  )
}
