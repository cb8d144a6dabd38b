/** Settings: what the account shows to others, what it stores, and how it ends. */
import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { RightsNotice } from '../../ui/rights-notice.tsx'
import { AddressSettings } from './address-settings.tsx'
import { DeleteAccount } from './delete-account.tsx'
import { ExportSettings } from './export-settings.tsx'
import { FeedbackForm } from './feedback-form.tsx'
import { LinkSettings } from './link-settings.tsx'
import { PreferenceSettings } from './preference-settings.tsx'
import { PresetSettings } from './preset-settings.tsx'
import { ProfileSettings } from './profile-settings.tsx'
import { PublicCode } from './public-code.tsx'
import { RecoveryPaper } from './recovery-paper.tsx'
import { TagSettings } from './tag-settings.tsx'
import { WindowSettings } from './window-settings.tsx'

export default function SettingsPage() {
  const { frame } = messages()
  return (
    <PageFrame title={frame.settings}>
      <RightsNotice needs="write" />
      <ProfileSettings />
      <AddressSettings />
      <PreferenceSettings />
      <PublicCode />
      <LinkSettings />
      <RecoveryPaper />
      <TagSettings />
      <PresetSettings />
      <ExportSettings />
      <FeedbackForm />
      <WindowSettings />
      <DeleteAccount />
    </PageFrame>
  )
}
