/** Makes a guest code for a person who does not have Countersign. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../../data/action.ts'
import { api, dataOf } from '../../../data/api.ts'
import { goTo } from '../../../shell/router.ts'
import { messages } from '../../../text/text.tsx'
import { SelectField, TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'
import { keepMadeLink } from '../guest/made-link.ts'

const DAY_S = 86_400

/** The choices of how long a code is valid, in days. */
const VALIDITIES = [
  ['1', 'oneDay'],
  ['7', 'oneWeek'],
  ['30', 'oneMonth'],
  ['365', 'oneYear'],
] as const

export const AddGuest = () => {
  const { people } = messages()
  const label = useSignal('')
  const days = useSignal<(typeof VALIDITIES)[number][0]>('7')
  const create = useAction(async () => {
    const body = { label: label.value.trim(), expires_in: Number(days.value) * DAY_S }
    const made = await dataOf(api.POST('/api/v1/guest-codes', { body }))
    keepMadeLink(made)
    goTo('people', made.id)
  })
  return (
    <section class="card">
      <h2>{people.addGuest}</h2>
      <ActionForm action={create} submit={people.createGuest}>
        <TextField
          label={people.guestName}
          hint={people.guestNameHint}
          value={label}
          maxLength={100}
          required
          autofocus
        />
        <SelectField
          label={people.validity}
          value={days}
          options={VALIDITIES.map(([value, text]) => [value, people[text]] as const)}
        />
      </ActionForm>
    </section>
  )
}
