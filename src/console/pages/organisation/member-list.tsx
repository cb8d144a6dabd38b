/** The members of the organisation: search, filters, suspension, activation and groups. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { AboutName } from '../../ui/about.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Loaded } from '../../ui/page.tsx'
import { Name } from '../../ui/person-name.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import { calledMember, useMembersAndGroups, type MembersAndGroups } from './member-data.ts'
import { MemberGroups } from './member-groups.tsx'

type Member = Schemas['OrgMember']
type State = Member['state']

/** How many members are shown at first, and with each press of the button. */
const ROWS = 200

const STATES: readonly State[] = ['active', 'invited', 'suspended']

const MemberName = ({ of }: { readonly of: Member }) => {
  const { organisation: texts } = messages()
  const address = of.display_name === null ? null : of.email
  return (
    <>
      <Name of={calledMember(of)} />
      {address === null ? null : <bdi class="hint block">{address}</bdi>}
      {of.kind === 'machine' ? <span class="hint block">{texts.machine}</span> : null}
    </>
  )
}

/** What a dialog is about. */
type Asked = { readonly kind: 'suspend' | 'groups'; readonly member: Member }

const MemberRow = (of: {
  readonly member: Member
  readonly groups: readonly string[]
  readonly mayManage: boolean
  readonly isOwn: boolean
  readonly reload: () => Promise<void>
  readonly onAsk: (asked: Asked) => void
}) => {
  const { organisation: texts } = messages()
  const { member } = of
  const activate = useAction(async () => {
    const path = { id: member.id }
    await dataOf(api.POST('/api/v1/org/members/{id}/activate', { params: { path } }))
    await of.reload()
  })
  const about = <AboutName of={calledMember(member)} />
  const kind = ({ active: 'ok', invited: undefined, suspended: 'warn' } as const)[member.state]
  return (
    <tr>
      <th scope="row">
        <MemberName of={member} />
      </th>
      <td>{texts[`role_${member.role}`]}</td>
      <td>
        <span class="badge" data-kind={kind}>
          {texts[`state_${member.state}`]}
        </span>
      </td>
      <td>{member.joined_at === null ? null : <When at={member.joined_at} />}</td>
      <td>
        {of.groups.map((name, at) => (
          <span key={name}>
            {at === 0 ? '' : ', '}
            <Name of={name} />
          </span>
        ))}
      </td>
      <td>
        <div class="answers">
          {of.mayManage && member.user_id !== null ? (
            <button
              type="button"
              class="small"
              onClick={() => of.onAsk({ kind: 'groups', member })}
            >
              {texts.changeGroups}
              {about}
            </button>
          ) : null}
          {(of.mayManage || of.isOwn) && member.state !== 'suspended' ? (
            <button
              type="button"
              class="small"
              onClick={() => of.onAsk({ kind: 'suspend', member })}
            >
              {of.isOwn ? texts.leave : texts.suspend}
              {of.isOwn ? null : about}
            </button>
          ) : null}
          {of.mayManage && member.state === 'suspended' ? (
            <ActionButton action={activate} kind="small">
              {texts.activate}
              {about}
            </ActionButton>
          ) : null}
        </div>
        <FailureNotice of={activate.failure} />
      </td>
    </tr>
  )
}

const SuspendDialog = (of: {
  readonly member: Member
  readonly isOwn: boolean
  readonly reload: () => Promise<void>
  readonly onClose: () => void
}) => {
  const { organisation: texts } = messages()
  const { member } = of
  const means = of.isOwn
    ? texts.suspendSelf
    : member.kind === 'machine'
      ? texts.suspendMachine
      : member.state === 'invited'
        ? texts.suspendInvited
        : texts.suspendMember
  return (
    <ConfirmDialog
      title={
        of.isOwn
          ? texts.leaveAsk
          : filled(texts.suspendAsk, { name: displayedName(calledMember(member)) })
      }
      confirm={of.isOwn ? texts.leave : texts.suspend}
      danger
      work={async () => {
        const path = { id: member.id }
        await dataOf(api.POST('/api/v1/org/members/{id}/suspend', { params: { path } }))
        await of.reload()
      }}
      onClose={of.onClose}
    >
      <p>{means}</p>
    </ConfirmDialog>
  )
}

const holds = (text: string | null, searched: string) =>
  text !== null && text.toLowerCase().includes(searched)

const MemberTable = (of: {
  readonly data: MembersAndGroups
  readonly own: string
  readonly mayManage: boolean
  readonly reload: () => Promise<void>
}) => {
  const { organisation: texts, common } = messages()
  const { members, groups } = of.data
  const searched = useSignal('')
  const state = useSignal<State | ''>('')
  const group = useSignal('')
  const most = useSignal(ROWS)
  const asked = useSignal<Asked | null>(null)
  const nameOf = new Map(groups.map(({ id, name }) => [id, name]))
  const text = searched.value.trim().toLowerCase()
  const shown = members.filter(
    (member) =>
      (text === '' || holds(member.display_name, text) || holds(member.email, text)) &&
      (state.value === '' || member.state === state.value) &&
      (group.value === '' || member.group_ids.includes(group.value)),
  )
  const close = () => {
    asked.value = null
  }
  const dialog = asked.value
  return (
    <>
      <div class="pair">
        <TextField label={common.search} type="search" value={searched} />
        <SelectField
          label={texts.showState}
          value={state}
          options={[
            ['', texts.everyState],
            ...STATES.map((one) => [one, texts[`state_${one}`]] as const),
          ]}
        />
        {groups.length === 0 ? null : (
          <SelectField
            label={texts.showGroup}
            value={group}
            options={[
              ['', texts.everyGroup],
              ...groups.map(({ id, name }) => [id, displayedName(name)] as const),
            ]}
          />
        )}
      </div>
      <p role="status" class="hint">
        {shown.length === 0 ? texts.noMatch : filled(texts.shownMembers, { count: shown.length })}
      </p>
      {shown.length === 0 ? null : (
        <TableBox
          label={texts.members}
          heading={[
            texts.person,
            texts.role,
            texts.state,
            texts.joined,
            texts.groups,
            texts.actions,
          ]}
        >
          {shown.slice(0, most.value).map((member) => (
            <MemberRow
              key={member.id}
              member={member}
              groups={member.group_ids.flatMap((id) => nameOf.get(id) ?? [])}
              mayManage={of.mayManage}
              isOwn={member.user_id === of.own}
              reload={of.reload}
              onAsk={(next) => {
                asked.value = next
              }}
            />
          ))}
        </TableBox>
      )}
      {shown.length > most.value ? (
        <button
          type="button"
          onClick={() => {
            most.value += ROWS
          }}
        >
          {common.more}
        </button>
      ) : null}
      {dialog?.kind === 'suspend' ? (
        <SuspendDialog
          member={dialog.member}
          isOwn={dialog.member.user_id === of.own}
          reload={of.reload}
          onClose={close}
        />
      ) : null}
      {dialog?.kind === 'groups' ? (
        <MemberGroups
          called={displayedName(calledMember(dialog.member))}
          member={dialog.member}
          groups={groups}
          reload={of.reload}
          onClose={close}
        />
      ) : null}
    </>
  )
}

/** The members of the organisation. */
export const MemberList = (of: { readonly own: string; readonly mayManage: boolean }) => {
  const { organisation: texts } = messages()
  const all = useMembersAndGroups()
  return (
    <section class="card">
      <h2>{texts.members}</h2>
      <p class="hint">{of.mayManage ? texts.namesAreServers : texts.managersOnly}</p>
      <Loaded from={all}>
        {(data) => <MemberTable data={data} reload={all.reload} {...of} />}
      </Loaded>
    </section>
  )
}
