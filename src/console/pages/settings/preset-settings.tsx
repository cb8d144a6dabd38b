/** The presets: the settings of new connections. */
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { useAction } from '../../data/action.ts'
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { useTags } from '../../data/tags.ts'
import { filled, messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { DialogButton } from '../../ui/dialog-button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { ItemList } from '../../ui/item-list.tsx'
import { Name } from '../../ui/person-name.tsx'
import { PresetForm, validityText } from './preset-form.tsx'
import { SettingSection } from './setting-section.tsx'

type Preset = Schemas['Preset']

const readPresets = () =>
  allItems((query) => dataOf(api.GET('/api/v1/presets', { params: { query } })))

/** Returns what a preset sets, as short texts. */
function effectsOf(preset: Preset, tags: readonly Schemas['Tag'][]): string[] {
  const { settings } = messages()
  const names = tags.flatMap(({ id, name }) =>
    preset.tag_ids.includes(id) ? [displayedName(name)] : [],
  )
  return [
    ...(names.length === 0 ? [] : [filled(settings.presetTags, { tags: names.join(', ') })]),
    ...(preset.favorite ? [settings.presetFavorite] : []),
    ...(preset.invite_message === null ? [] : [settings.presetMessage]),
    filled(settings.presetValidity, { time: validityText(preset.invitation_expires_in) }),
  ]
}

const PresetRow = (of: { readonly preset: Preset; readonly reload: () => Promise<void> }) => {
  const { settings } = messages()
  const tags = useTags().data.value ?? []
  const { id, name, is_default: isDefault } = of.preset
  const setDefault = useAction(async () => {
    if (isDefault) await dataOf(api.DELETE('/api/v1/presets/default'))
    else await dataOf(api.POST('/api/v1/presets/{id}/default', { params: { path: { id } } }))
    await of.reload()
  })
  return (
    <li>
      <span class="grow">
        <Name of={name} /> {isDefault ? <span class="badge">{settings.presetDefault}</span> : null}
        <span class="hint block">{effectsOf(of.preset, tags).join(' · ')}</span>
        <FailureNotice of={setDefault.failure} />
      </span>
      <div class="answers">
        <ActionButton action={setDefault} kind="small" about={name}>
          {isDefault ? settings.unsetDefault : settings.setDefault}
        </ActionButton>
        <DialogButton kind="small" label={settings.edit} about={name} title={settings.editPreset}>
          {(close) => <PresetForm preset={of.preset} reload={of.reload} onClose={close} />}
        </DialogButton>
        <ConfirmedButton
          kind="small"
          label={settings.remove}
          about={name}
          title={filled(settings.deletePreset, { name: displayedName(name) })}
          confirm={settings.remove}
          work={async () => {
            await dataOf(api.DELETE('/api/v1/presets/{id}', { params: { path: { id } } }))
            await of.reload()
          }}
        >
          {settings.deletePresetMeans}
        </ConfirmedButton>
      </div>
    </li>
  )
}

/** The section of the presets. */
export const PresetSettings = () => {
  const { settings } = messages()
  const presets = useResource('presets', readPresets, ['session.*', 'sync.done'])
  return (
    <SettingSection title={settings.presets} lead={settings.presetsLead}>
      <ItemList
        from={presets}
        label={settings.presets}
        none={settings.noPresets}
        row={(preset) => <PresetRow key={preset.id} preset={preset} reload={presets.reload} />}
      />
      <DialogButton label={settings.newPreset} title={settings.newPreset}>
        {(close) => <PresetForm preset={null} reload={presets.reload} onClose={close} />}
      </DialogButton>
    </SettingSection>
  )
}
