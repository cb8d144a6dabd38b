/** The public code: three words that strangers can look up at the account server. */
import { useSignalEffect } from '@preact/signals'
import { api, dataOf } from '../../data/api.ts'
import { now, secondsLeft } from '../../data/clock.ts'
import { awaySince } from '../../data/live.ts'
import { ownProfile } from '../../data/own-profile.ts'
import { useAction } from '../../data/action.ts'
import { filled, messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { Loaded } from '../../ui/page.tsx'
import { usePreferences } from './preferences.ts'
import { SettingSection } from './setting-section.tsx'

/** The words of this minute. They are read again when their minute is over. */
const PublicWords = () => {
  const { settings } = messages()
  const code = ownProfile.data.value?.public_code ?? null
  useSignalEffect(() => {
    const until = ownProfile.data.value?.public_code?.valid_until
    const isOver = until !== undefined && Date.parse(until) <= now.value
    if (isOver && awaySince.value === null) void ownProfile.reload()
  })
  if (code === null) return <p class="hint">{settings.noPublicWords}</p>
  return (
    <>
      <p class="words" lang="en" translate={false}>
        {code.words}
      </p>
      <p class="hint">{filled(settings.publicWordsLeft, { count: secondsLeft(now.value) })}</p>
    </>
  )
}

/** The section of the public code. */
export const PublicCode = () => {
  const { settings } = messages()
  const preferences = usePreferences()
  const set = async (isOn: boolean) => {
    await dataOf(api.PATCH('/api/v1/preferences', { body: { public_code: isOn } }))
    await Promise.all([preferences.reload(), ownProfile.reload()])
  }
  const switchOff = useAction(() => set(false))
  return (
    <SettingSection title={settings.publicCode} lead={settings.publicCodeLead}>
      <Loaded from={preferences}>
        {({ public_code: isOn }) => (
          <>
            <p>
              <span class="badge" data-kind={isOn ? 'ok' : undefined}>
                {isOn ? settings.publicCodeOn : settings.publicCodeOff}
              </span>
            </p>
            {isOn ? <PublicWords /> : null}
            <FailureNotice of={switchOff.failure} />
            {isOn ? (
              <ActionButton action={switchOff}>{settings.switchOff}</ActionButton>
            ) : (
              <ConfirmedButton
                label={settings.switchOn}
                title={settings.publicCodeAsk}
                confirm={settings.switchOn}
                isHarmless
                work={() => set(true)}
              >
                {settings.publicCodeMeans}
              </ConfirmedButton>
            )}
          </>
        )}
      </Loaded>
    </SettingSection>
  )
}
