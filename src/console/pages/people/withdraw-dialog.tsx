import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { invitedName } from './people-rows.ts'

/** Asks before an invitation is withdrawn. */
export const WithdrawDialog = (of: {
  readonly of: Schemas['Invitation']
  /** Reads what has changed. */
  readonly onDone: () => Promise<unknown>
  readonly onClose: () => void
}) => {
  const { people } = messages()
  const { id } = of.of
  return (
    <ConfirmDialog
      title={filled(people.withdrawTitle, { name: displayedName(invitedName(of.of)) })}
      confirm={people.withdraw}
      danger
      onClose={of.onClose}
      work={async () => {
        await dataOf(api.POST('/api/v1/invitations/{id}/withdraw', { params: { path: { id } } }))
        await of.onDone()
      }}
    >
      <p>{people.withdrawText}</p>
    </ConfirmDialog>
  )
}
