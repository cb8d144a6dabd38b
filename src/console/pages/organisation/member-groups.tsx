/** The groups of a member, in a dialog. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TicksField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { Name } from '../../ui/person-name.tsx'

/** A dialog that puts a member into groups and takes it out of groups. */
export const MemberGroups = (of: {
  readonly called: string
  readonly member: Schemas['OrgMember']
  readonly groups: readonly Schemas['OrgGroup'][]
  readonly reload: () => Promise<void>
  readonly onClose: () => void
}) => {
  const { organisation: texts } = messages()
  const { member, groups } = of
  const chosen = useSignal<readonly string[]>(member.group_ids)
  const save = useAction(async () => {
    for (const { id } of groups) {
      const isIn = chosen.value.includes(id)
      if (isIn === member.group_ids.includes(id)) continue
      const change = { params: { path: { id } }, body: { member_ids: [member.id] } }
      await dataOf(
        isIn
          ? api.POST('/api/v1/org/groups/{id}/members', change)
          : api.DELETE('/api/v1/org/groups/{id}/members', change),
      )
    }
    await of.reload()
    of.onClose()
  })
  return (
    <Dialog title={filled(texts.groupsOf, { name: of.called })} onClose={of.onClose}>
      {groups.length === 0 ? <p>{texts.noGroups}</p> : null}
      <ActionForm
        action={save}
        submit={texts.saveGroups}
        disabled={groups.length === 0}
        onCancel={of.onClose}
      >
        <TicksField
          label={texts.groups}
          value={chosen}
          options={groups.map(({ id, name }) => [id, <Name key={id} of={name} />] as const)}
        />
      </ActionForm>
    </Dialog>
  )
}
