/** The language and time zone of mails, and who may find the account. */
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import type { Resource } from '../../data/resource.ts'
import { filled, locale, messages } from '../../text/text.tsx'
import { CheckField, SelectField, useFieldValue } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { Loaded } from '../../ui/page.tsx'
import { usePreferences } from './preferences.ts'
import { SettingSection } from './setting-section.tsx'

/** The languages of mails. */
const LANGUAGES = ['en', 'de']

const nameOf = (tag: string) => new Intl.DisplayNames(locale(), { type: 'language' }).of(tag) ?? tag

const withOwn = (all: readonly string[], own: string) => (all.includes(own) ? all : [own, ...all])

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

const PreferenceFields = (of: {
  readonly preferences: Schemas['Preferences']
  readonly from: Resource<Schemas['Preferences']>
}) => {
  const { settings, common } = messages()
  const { preferences, from } = of
  const language = useFieldValue(preferences.locale)
  const zone = useFieldValue(preferences.time_zone)
  const isMailed = useFieldValue(preferences.email_notifications)
  const isFindable = useFieldValue(preferences.findable_by_email)
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone
  const save = useAction(async () => {
    const body = {
      locale: language.value,
      time_zone: zone.value,
      email_notifications: isMailed.value,
      findable_by_email: isFindable.value,
    }
    await dataOf(api.PATCH('/api/v1/preferences', { body }))
    await from.reload()
  })
  return (
    <ActionForm action={save} submit={common.save} done={settings.saved}>
      <SelectField
        label={settings.language}
        value={language}
        hint={settings.languageHint}
        options={withOwn(LANGUAGES, language.value).map((tag) => [tag, nameOf(tag)])}
      />
      <SelectField
        label={settings.zone}
        value={zone}
        hint={filled(settings.zoneHint, { zone: here })}
        options={withOwn(ZONES, zone.value).map((name) => [name, name.replaceAll('_', ' ')])}
      />
      <CheckField label={settings.mailed} value={isMailed} hint={settings.mailedHint} />
      <CheckField label={settings.findable} value={isFindable} hint={settings.findableHint} />
    </ActionForm>
  )
}

/** The section of the preferences. */
export const PreferenceSettings = () => {
  const { settings } = messages()
  const preferences = usePreferences()
  return (
    <SettingSection title={settings.preferences} lead={settings.preferencesLead}>
      <Loaded from={preferences}>
        {(data) => <PreferenceFields preferences={data} from={preferences} />}
      </Loaded>
    </SettingSection>
  )
}
