import { useSignal } from '@preact/signals'
import { useAction } from '../../../data/action.ts'
import { api, dataOf } from '../../../data/api.ts'
import { filled, messages } from '../../../text/text.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'
import { typedInvitee } from './invitee.ts'

/** Invites another person into a connection. */
export const InviteForm = (of: {
  readonly connection: string
  readonly isDirect: boolean
  readonly onDone: () => Promise<unknown>
}) => {
  const { people } = messages()
  const address = useSignal('')
  const sentTo = useSignal('')
  const invite = useAction(async () => {
    const params = { path: { id: of.connection } }
    const body = typedInvitee(address.value)
    await dataOf(api.POST('/api/v1/connections/{id}/members', { params, body }))
    sentTo.value = address.value.trim()
    address.value = ''
    await of.onDone()
  })
  return (
    <details>
      <summary>{people.inviteMore}</summary>
      <ActionForm
        action={invite}
        submit={people.invite}
        done={filled(people.inviteSent, { name: sentTo.value })}
      >
        <TextField
          label={people.address}
          hint={of.isDirect ? people.inviteGroup : people.addressHint}
          value={address}
          required
        />
      </ActionForm>
    </details>
  )
}
