/** Invites a person who has Countersign, with four words if both are in contact now. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { goTo, hrefOf } from '../../../shell/router.ts'
import { messages } from '../../../text/text.tsx'
import { CheckField, TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'
import { ContactWordsCard } from '../connection/contact-words-card.tsx'
import { typedInvitee } from '../connection/invitee.ts'

interface MadeWords {
  readonly connection: string
  readonly words: Schemas['ContactWords']
}

export const AddAccount = () => {
  const { people } = messages()
  const name = useSignal('')
  const address = useSignal('')
  const isInPerson = useSignal(false)
  const made = useSignal<MadeWords | null>(null)
  const invite = useAction(async () => {
    const body = {
      name: name.value.trim(),
      invite: [typedInvitee(address.value)],
      ...(isInPerson.value ? { words: true as const } : {}),
    }
    const { id, words } = await dataOf(api.POST('/api/v1/connections', { body }))
    if (words?.[0] === undefined) goTo('people', id)
    else made.value = { connection: id, words: words[0] }
  })
  if (made.value !== null) {
    const { connection, words } = made.value
    return (
      <>
        <ContactWordsCard
          key={words.words}
          of={words}
          onAgain={(again) => {
            made.value = { connection, words: again }
          }}
        />
        <p>
          <a href={hrefOf('people', connection)}>{people.toPerson}</a>
        </p>
      </>
    )
  }
  return (
    <section class="card">
      <h2>{people.addAccount}</h2>
      <ActionForm action={invite} submit={people.sendInvitation}>
        <TextField
          label={people.personName}
          hint={people.personNameHint}
          value={name}
          maxLength={200}
          required
          autofocus
        />
        <TextField label={people.address} hint={people.addressHint} value={address} required />
        <CheckField label={people.inPerson} hint={people.inPersonHint} value={isInPerson} />
      </ActionForm>
    </section>
  )
}
