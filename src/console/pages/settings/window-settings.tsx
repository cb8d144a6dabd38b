/** This window: what it may do and until when, and how the account is signed out. */
import { thisMinute } from '../../data/clock.ts'
import { sessionFullUntil, sessionScope } from '../../session/session.ts'
import { hrefOf } from '../../shell/router.ts'
import { filled, messages, timeShort } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { SettingSection } from './setting-section.tsx'

/** The section of this window. */
export const WindowSettings = () => {
  const { settings } = messages()
  const until = sessionFullUntil.value
  const scope = sessionScope.value
  return (
    <SettingSection title={settings.window} lead={settings.windowLead}>
      <p>
        {scope === 'full' && until !== null
          ? filled(settings.scopeFullUntil, { time: timeShort(until, thisMinute.value) })
          : { read: settings.scopeRead, write: settings.scopeWrite, full: settings.scopeFull }[
              scope
            ]}
      </p>
      <p>{settings.windowEnds}</p>
      <p>
        <a href={hrefOf('tokens')}>{settings.windows}</a>
      </p>
      <h3>{settings.signOut}</h3>
      <p>{settings.signOutLead}</p>
      <p>
        <CommandText of="countersignd logout" />
      </p>
    </SettingSection>
  )
}
