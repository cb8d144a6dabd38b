import { useSignal } from '@preact/signals'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { messages } from '../../../text/text.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'

/** Returns a text for the API: null if it is empty. */
const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

/** The user's own name for a person, and a note. */
export const CardForm = (of: {
  readonly of: Schemas['TrustCard']
  readonly onSaved: () => Promise<unknown>
}) => {
  const { people, common } = messages()
  const { user_id: id, name_source, display_name, note } = of.of
  const given = name_source === 'given' ? display_name : ''
  const name = useSignal(given)
  const text = useSignal(note ?? '')
  const save = useAction(async () => {
    const params = { path: { id } }
    // A name is stored on this device only, a note also at the account server.
    const body = {
      ...(name.value.trim() === given ? {} : { name: orNull(name.value) }),
      ...(text.value.trim() === (note ?? '') ? {} : { note: orNull(text.value) }),
    }
    await dataOf(api.PATCH('/api/v1/trust-cards/{id}', { params, body }))
    await of.onSaved()
  })
  return (
    <ActionForm action={save} submit={common.save} done={people.saved}>
      <TextField label={people.ownName} hint={people.ownNameHint} value={name} maxLength={128} />
      <TextField
        label={people.note}
        hint={people.noteHint}
        value={text}
        rows={3}
        maxLength={2000}
      />
    </ActionForm>
  )
}
