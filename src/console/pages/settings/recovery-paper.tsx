/** The recovery key on paper. Its words are created, shown and typed at a terminal only. */
import { messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { SettingSection } from './setting-section.tsx'

/** The section of the recovery key. */
export const RecoveryPaper = () => {
  const { settings } = messages()
  return (
    <SettingSection title={settings.recovery} lead={settings.recoveryLead}>
      <p>{settings.recoveryState}</p>
      <p>
        <CommandText of="countersignd whoami" />
      </p>
      <p>{settings.recoveryCreate}</p>
      <p>
        <CommandText of="countersignd recovery create" />
      </p>
      <p class="hint">{settings.recoveryWhy}</p>
    </SettingSection>
  )
}
