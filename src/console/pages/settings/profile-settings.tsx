/** The name, handle and headline that others see. */
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { ownProfile } from '../../data/own-profile.ts'
import { useShared } from '../../data/resource.ts'
import { messages } from '../../text/text.tsx'
import { TextField, useFieldValue } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { Loaded } from '../../ui/page.tsx'
import { SettingSection } from './setting-section.tsx'

const MOST = { name: 64, handle: 40, headline: 200 }

const ProfileFields = ({ profile }: { readonly profile: Schemas['Profile'] }) => {
  const { settings, common } = messages()
  const name = useFieldValue(profile.display_name)
  const handle = useFieldValue(profile.handle ?? '')
  const headline = useFieldValue(profile.headline ?? '')
  const save = useAction(async () => {
    const wanted = {
      display_name: name.value.trim(),
      handle: handle.value.trim() || null,
      headline: headline.value.trim() || null,
    }
    // A device signs each new name, and the number of changes a day is limited.
    const body = Object.fromEntries(
      Object.entries(wanted).filter(
        ([key, value]) => value !== profile[key as keyof typeof wanted],
      ),
    )
    await dataOf(api.PATCH('/api/v1/profile', { body }))
    await ownProfile.reload()
  })
  return (
    <ActionForm action={save} submit={common.save} done={settings.saved}>
      <TextField
        label={settings.name}
        value={name}
        hint={settings.nameHint}
        required
        maxLength={MOST.name}
      />
      <TextField
        label={settings.handle}
        value={handle}
        hint={settings.handleHint}
        maxLength={MOST.handle}
      />
      <TextField label={settings.headline} value={headline} maxLength={MOST.headline} />
    </ActionForm>
  )
}

/** The section of the profile. */
export const ProfileSettings = () => {
  const { settings } = messages()
  const profile = useShared(ownProfile, ['session.*', 'sync.done'])
  return (
    <SettingSection title={settings.profile} lead={settings.profileLead}>
      <Loaded from={profile}>{(data) => <ProfileFields profile={data} />}</Loaded>
    </SettingSection>
  )
}
