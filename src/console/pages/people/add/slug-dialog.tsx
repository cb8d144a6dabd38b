import { useSignal } from '@preact/signals'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { useAction } from '../../../data/action.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { filled, messages } from '../../../text/text.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'

/** Asks for another end of a public page's address. */
export const SlugDialog = (of: {
  readonly of: Schemas['OpenLink']
  readonly onDone: () => Promise<unknown>
  readonly onClose: () => void
}) => {
  const { people, common } = messages()
  const { id, title } = of.of
  const slug = useSignal(of.of.slug)
  const save = useAction(async () => {
    const params = { path: { id } }
    const body = { slug: slug.value.trim() }
    await dataOf(api.PATCH('/api/v1/open-links/{id}/slug', { params, body }))
    await of.onDone()
    of.onClose()
  })
  return (
    <Dialog
      title={filled(people.changeAddressTitle, { name: displayedName(title) })}
      onClose={of.onClose}
    >
      <ActionForm action={save} submit={common.save} onCancel={of.onClose}>
        <p>{people.changeAddressText}</p>
        <TextField
          label={people.pageSlug}
          hint={people.pageSlugHint}
          value={slug}
          required
          autofocus
        />
      </ActionForm>
    </Dialog>
  )
}
