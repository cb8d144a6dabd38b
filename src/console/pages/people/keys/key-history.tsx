/** What happened to a person's keys. */
import { useSignal } from '@preact/signals'
import { api, dataOf } from '../../../data/api.ts'
import { thisMinute } from '../../../data/clock.ts'
import { useResource } from '../../../data/resource.ts'
import { filled, messages, timeShort } from '../../../text/text.tsx'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { TableBox } from '../../../ui/table-box.tsx'
import { Loaded } from '../../../ui/page.tsx'

const EVENT_TEXTS = {
  followed: 'eventFollowed',
  key_added: 'eventKeyAdded',
  key_revoked: 'eventKeyRevoked',
  keys_changed: 'eventKeysChanged',
  keys_recovered: 'eventKeysRecovered',
  recovery_key_changed: 'eventRecoveryKeyChanged',
  confirmed: 'eventConfirmed',
  verified: 'eventVerified',
  note_changed: 'eventNoteChanged',
} as const

const KeyEvents = ({ account }: { readonly account: string }) => {
  const { people } = messages()
  const history = useResource(
    `history ${account}`,
    () =>
      dataOf(api.GET('/api/v1/trust-cards/{id}/history', { params: { path: { id: account } } })),
    ['trust.*', 'verification.made'],
  )
  return (
    <Loaded from={history}>
      {({ items }) =>
        items.length === 0 ? (
          <p>{people.keyHistoryNone}</p>
        ) : (
          <TableBox label={people.keyHistory} heading={[messages().log.time, people.event]}>
            {items.map(({ at, event, detail }, i) => (
              <tr key={`${at} ${i}`}>
                <td>
                  <time dateTime={at}>{timeShort(at, thisMinute.value)}</time>
                </td>
                <td>
                  <bdi>
                    {detail === null
                      ? people[EVENT_TEXTS[event]]
                      : filled(people.eventWithDetail, {
                          event: people[EVENT_TEXTS[event]],
                          detail: displayedName(detail),
                        })}
                  </bdi>
                </td>
              </tr>
            ))}
          </TableBox>
        )
      }
    </Loaded>
  )
}

/** The history, which is read when it is opened. */
export const KeyHistory = ({ account }: { readonly account: string }) => {
  const isOpen = useSignal(false)
  return (
    <details
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open
      }}
    >
      <summary>{messages().people.keyHistory}</summary>
      {isOpen.value ? <KeyEvents account={account} /> : null}
    </details>
  )
}
