/** The fields of a preset. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { useTags } from '../../data/tags.ts'
import { filled, messages } from '../../text/text.tsx'
import { CheckField, SelectField, TextField, TicksField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { Name } from '../../ui/person-name.tsx'

const DAY_S = 86_400
const HOUR_S = 3600
/** The offered validities of invitations, in seconds. */
const VALIDITIES = [1, 3, 7, 30].map((days) => days * DAY_S)
const MOST = { name: 100, message: 1000 }

/** Returns the validity of invitations as text. @param seconds null for the usual two weeks */
export function validityText(seconds: number | null): string {
  const { settings } = messages()
  if (seconds === null) return settings.twoWeeks
  return seconds % DAY_S === 0
    ? filled(settings.days, { count: seconds / DAY_S })
    : filled(settings.hours, { count: Math.round(seconds / HOUR_S) })
}

/** A form that creates or changes a preset. */
export const PresetForm = (of: {
  readonly preset: Schemas['Preset'] | null
  readonly reload: () => Promise<void>
  readonly onClose: () => void
}) => {
  const { settings, common } = messages()
  const { preset } = of
  const tags = useTags().data.value ?? []
  const name = useSignal(preset?.name ?? '')
  const chosen = useSignal<readonly string[]>(preset?.tag_ids ?? [])
  const isFavorite = useSignal(preset?.favorite ?? false)
  const message = useSignal(preset?.invite_message ?? '')
  const validity = useSignal(String(preset?.invitation_expires_in ?? ''))
  const own = preset?.invitation_expires_in ?? null
  const validities = own === null || VALIDITIES.includes(own) ? VALIDITIES : [own, ...VALIDITIES]
  const save = useAction(async () => {
    const body = {
      name: name.value.trim(),
      tag_ids: [...chosen.value],
      favorite: isFavorite.value,
      invite_message: message.value.trim() || null,
      invitation_expires_in: validity.value === '' ? null : Number(validity.value),
    }
    await dataOf(
      preset === null
        ? api.POST('/api/v1/presets', { body })
        : api.PATCH('/api/v1/presets/{id}', { params: { path: { id: preset.id } }, body }),
    )
    await of.reload()
    of.onClose()
  })
  return (
    <ActionForm action={save} submit={common.save} onCancel={of.onClose}>
      <TextField label={settings.presetName} value={name} required maxLength={MOST.name} />
      {tags.length === 0 ? null : (
        <TicksField
          label={settings.tags}
          value={chosen}
          options={tags.map((tag) => [tag.id, <Name key={tag.id} of={tag.name} />] as const)}
        />
      )}
      <CheckField label={settings.favorite} value={isFavorite} />
      <TextField
        label={settings.inviteMessage}
        value={message}
        rows={3}
        maxLength={MOST.message}
        hint={settings.inviteMessageHint}
      />
      <SelectField
        label={settings.validity}
        value={validity}
        options={[
          ['', settings.twoWeeks],
          ...validities.map((seconds) => [String(seconds), validityText(seconds)] as const),
        ]}
      />
    </ActionForm>
  )
}
