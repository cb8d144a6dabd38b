/** The groups of the organisation. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { useAction } from '../../data/action.ts'
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { filled, messages } from '../../text/text.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { DialogButton } from '../../ui/dialog-button.tsx'
import { TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { ItemList } from '../../ui/item-list.tsx'
import { Name } from '../../ui/person-name.tsx'
import { ORGANISATION_CHANGES } from './changes.ts'

type Group = Schemas['OrgGroup']

const readGroups = () =>
  allItems((query) => dataOf(api.GET('/api/v1/org/groups', { params: { query } })))

const GroupForm = (of: {
  readonly group: Group | null
  readonly reload: () => Promise<void>
  readonly onClose: () => void
}) => {
  const { organisation: texts, common } = messages()
  const name = useSignal(of.group?.name ?? '')
  const description = useSignal(of.group?.description ?? '')
  const save = useAction(async () => {
    const body = { name: name.value.trim(), description: description.value.trim() || null }
    await dataOf(
      of.group === null
        ? api.POST('/api/v1/org/groups', { body })
        : api.PATCH('/api/v1/org/groups/{id}', { params: { path: { id: of.group.id } }, body }),
    )
    await of.reload()
    of.onClose()
  })
  return (
    <ActionForm action={save} submit={common.save} onCancel={of.onClose}>
      <TextField label={texts.groupName} value={name} required maxLength={100} />
      <TextField label={texts.description} value={description} rows={2} maxLength={1000} />
    </ActionForm>
  )
}

const GroupRow = (of: {
  readonly group: Group
  readonly mayManage: boolean
  readonly reload: () => Promise<void>
}) => {
  const { organisation: texts } = messages()
  const { id, name, description, member_count: count } = of.group
  return (
    <li>
      <span class="grow">
        <Name of={name} /> <span class="hint">{filled(texts.groupMembers, { count })}</span>
        {description === null ? null : (
          <span class="hint block">
            <Name of={description} />
          </span>
        )}
      </span>
      {of.mayManage ? (
        <>
          <DialogButton kind="small" label={texts.edit} about={name} title={texts.editGroup}>
            {(close) => <GroupForm group={of.group} reload={of.reload} onClose={close} />}
          </DialogButton>
          <ConfirmedButton
            kind="small"
            label={texts.remove}
            about={name}
            title={filled(texts.deleteGroup, { name: displayedName(name) })}
            confirm={texts.remove}
            work={async () => {
              await dataOf(api.DELETE('/api/v1/org/groups/{id}', { params: { path: { id } } }))
              await of.reload()
            }}
          >
            {texts.deleteGroupMeans}
          </ConfirmedButton>
        </>
      ) : null}
    </li>
  )
}

/** The groups of the organisation. */
export const GroupList = ({ mayManage }: { readonly mayManage: boolean }) => {
  const { organisation: texts } = messages()
  const groups = useResource('groups', readGroups, ORGANISATION_CHANGES)
  return (
    <section class="card">
      <h2>{texts.groups}</h2>
      <p class="hint">{mayManage ? texts.groupsLead : texts.managersOnly}</p>
      <ItemList
        from={groups}
        label={texts.groups}
        none={texts.noGroups}
        row={(group) => (
          <GroupRow key={group.id} group={group} mayManage={mayManage} reload={groups.reload} />
        )}
      />
      {mayManage ? (
        <DialogButton label={texts.newGroup} title={texts.newGroup}>
          {(close) => <GroupForm group={null} reload={groups.reload} onClose={close} />}
        </DialogButton>
      ) : null}
    </section>
  )
}
