/** The deletion of the account. */
import { useSignal } from '@preact/signals'
import { api, dataOf } from '../../data/api.ts'
import { ownProfile } from '../../data/own-profile.ts'
import { lockSession } from '../../session/session.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { OpenerButton } from '../../ui/opener-button.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Name } from '../../ui/person-name.tsx'
import { SettingSection } from './setting-section.tsx'

const DeleteDialog = (of: { readonly name: string; readonly onClose: () => void }) => {
  const { settings } = messages()
  const typed = useSignal('')
  return (
    <ConfirmDialog
      title={settings.deleteAsk}
      confirm={settings.deleteNow}
      danger
      disabled={typed.value !== of.name}
      work={async () => {
        await dataOf(api.DELETE('/api/v1/account'))
        await lockSession('absent')
      }}
      onClose={of.onClose}
    >
      <ul>
        <li>{settings.deleteConnections}</li>
        <li>{settings.deleteGuests}</li>
        <li>{settings.deleteDevices}</li>
        <li>{settings.deleteStamps}</li>
        <li>{settings.deleteForever}</li>
      </ul>
      <p>
        <MessageText of={settings.deleteType} values={{ name: <Name of={of.name} /> }} />
      </p>
      <TextField label={settings.deleteName} value={typed} />
    </ConfirmDialog>
  )
}

/** The section of the deletion. */
export const DeleteAccount = () => {
  const { settings } = messages()
  const name = ownProfile.data.value?.display_name
  return (
    <SettingSection title={settings.deleteAccount} lead={settings.deleteLead}>
      <p>{settings.deleteSteps}</p>
      <p>
        <CommandText of="countersignd open --full" />
      </p>
      {name === undefined ? null : (
        <OpenerButton label={settings.deleteButton} kind="danger">
          {(close) => <DeleteDialog name={name} onClose={close} />}
        </OpenerButton>
      )}
    </SettingSection>
  )
}
