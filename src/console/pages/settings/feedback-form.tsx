/** Feedback to the operator of the account server. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { SettingSection } from './setting-section.tsx'

const CATEGORIES = ['problem', 'idea', 'question', 'praise', 'other'] as const

/** The section of the feedback. */
export const FeedbackForm = () => {
  const { settings } = messages()
  const message = useSignal('')
  const category = useSignal<(typeof CATEGORIES)[number]>('problem')
  const isMailed = useSignal(true)
  const send = useAction(async () => {
    const body = { message: message.value, category: category.value }
    isMailed.value = (await dataOf(api.POST('/api/v1/feedback', { body }))).mailed
    message.value = ''
  })
  return (
    <SettingSection title={settings.feedback} lead={settings.feedbackLead}>
      <ActionForm
        action={send}
        submit={settings.sendFeedback}
        done={isMailed.value ? settings.feedbackSent : settings.feedbackStored}
      >
        <SelectField
          label={settings.category}
          value={category}
          options={CATEGORIES.map((one) => [one, settings[one]])}
        />
        <TextField label={settings.message} value={message} rows={4} required maxLength={16_000} />
      </ActionForm>
    </SettingSection>
  )
}
