/** The public address of links, and who can open them. */
import { daemonStatus } from '../../data/status.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { SettingSection } from './setting-section.tsx'

/** The section of the links. */
export const LinkSettings = () => {
  const { settings } = messages()
  const status = daemonStatus.value
  const isPublic = status?.reachable === 'network'
  return (
    <SettingSection title={settings.links} lead={settings.linksLead}>
      {status === null ? null : (
        <p>
          <MessageText
            of={isPublic ? settings.linksNetwork : settings.linksThisMachine}
            values={{ url: <bdi>{status.public_url}</bdi> }}
          />
        </p>
      )}
      <p>{isPublic ? settings.linksCheck : settings.linksPublish}</p>
      <p>
        <CommandText of={isPublic ? 'countersignd publish --check' : 'countersignd publish'} />
      </p>
    </SettingSection>
  )
}
