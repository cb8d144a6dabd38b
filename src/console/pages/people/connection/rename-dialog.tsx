import { useSignal } from '@preact/signals'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { useAction } from '../../../data/action.ts'
import { filled, messages } from '../../../text/text.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/fields.tsx'
import { ActionForm } from '../../../ui/form.tsx'

/** Asks for another name. */
export const RenameDialog = (of: {
  readonly name: string
  readonly work: (name: string) => Promise<unknown>
  readonly onClose: () => void
}) => {
  const { people, common } = messages()
  const name = useSignal(of.name)
  const rename = useAction(async () => {
    await of.work(name.value.trim())
    of.onClose()
  })
  return (
    <Dialog
      title={filled(people.renameTitle, { name: displayedName(of.name) })}
      onClose={of.onClose}
    >
      <ActionForm action={rename} submit={common.save} onCancel={of.onClose}>
        <TextField
          label={people.name}
          hint={people.nameHint}
          value={name}
          maxLength={200}
          required
          autofocus
        />
      </ActionForm>
    </Dialog>
  )
}
