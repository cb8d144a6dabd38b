/** The tags of the account. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { useTags } from '../../data/tags.ts'
import { filled, messages } from '../../text/text.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { DialogButton } from '../../ui/dialog-button.tsx'
import { CheckField, ColorField, TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { ItemList } from '../../ui/item-list.tsx'
import { Name } from '../../ui/person-name.tsx'
import { SettingSection } from './setting-section.tsx'

type Tag = Schemas['Tag']

/** The colour that a new colour begins with. */
const USUAL_COLOR = '#2453b8'
const MOST_NAME = 60

/** The fields of a tag; null for a new one. */
const TagForm = (of: {
  readonly tag: Tag | null
  readonly reload: () => Promise<void>
  readonly onClose: () => void
}) => {
  const { settings, common } = messages()
  const name = useSignal(of.tag?.name ?? '')
  const hasColor = useSignal(typeof of.tag?.color === 'string')
  const color = useSignal(of.tag?.color ?? USUAL_COLOR)
  const save = useAction(async () => {
    const body = { name: name.value.trim(), color: hasColor.value ? color.value : null }
    await dataOf(
      of.tag === null
        ? api.POST('/api/v1/tags', { body })
        : api.PATCH('/api/v1/tags/{id}', { params: { path: { id: of.tag.id } }, body }),
    )
    await of.reload()
    of.onClose()
  })
  return (
    <ActionForm action={save} submit={common.save} onCancel={of.onClose}>
      <TextField label={settings.tagName} value={name} required maxLength={MOST_NAME} />
      <CheckField label={settings.hasColor} value={hasColor} />
      {hasColor.value ? <ColorField label={settings.color} value={color} /> : null}
    </ActionForm>
  )
}

const TagRow = (of: { readonly tag: Tag; readonly reload: () => Promise<void> }) => {
  const { settings } = messages()
  const { id, name, color, connection_count: count } = of.tag
  return (
    <li>
      <span class="dot" aria-hidden="true" style={color === null ? {} : { background: color }} />
      <span class="grow">
        <Name of={name} /> <span class="hint">{filled(settings.tagUse, { count })}</span>
      </span>
      <DialogButton kind="small" label={settings.edit} about={name} title={settings.editTag}>
        {(close) => <TagForm tag={of.tag} reload={of.reload} onClose={close} />}
      </DialogButton>
      <ConfirmedButton
        kind="small"
        label={settings.remove}
        about={name}
        title={filled(settings.deleteTag, { name: displayedName(name) })}
        confirm={settings.remove}
        work={async () => {
          await dataOf(api.DELETE('/api/v1/tags/{id}', { params: { path: { id } } }))
          await of.reload()
        }}
      >
        {filled(settings.deleteTagMeans, { count })}
      </ConfirmedButton>
    </li>
  )
}

/** The section of the tags. */
export const TagSettings = () => {
  const { settings } = messages()
  const tags = useTags()
  return (
    <SettingSection title={settings.tags} lead={settings.tagsLead}>
      <ItemList
        from={tags}
        label={settings.tags}
        none={settings.noTags}
        row={(tag) => <TagRow key={tag.id} tag={tag} reload={tags.reload} />}
      />
      <DialogButton label={settings.newTag} title={settings.newTag}>
        {(close) => <TagForm tag={null} reload={tags.reload} onClose={close} />}
      </DialogButton>
    </SettingSection>
  )
}
