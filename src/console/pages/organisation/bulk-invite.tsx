/** Invitations of many people: addresses from any text, a preview, and a result for each. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { useMembersAndGroups } from './member-data.ts'
import { isHigherRole, ROLES, type OrganisationRole } from './roles.ts'
import { addressesIn, type PastedAddress } from './pasted-addresses.ts'

type Member = Schemas['OrgMember']
type Invited = Schemas['BulkInvited']

/** The most addresses in one request. */
const MOST = 500
interface Preview extends PastedAddress {
  readonly text: string
  readonly isSent: boolean
}

/** Returns what the server will do with each address, as far as this page knows the members. */
function previewOf(
  pasted: readonly PastedAddress[],
  members: readonly Member[],
  role: OrganisationRole,
): Preview[] {
  const { organisation: texts } = messages()
  const known = new Map(members.map((member) => [member.email?.toLowerCase(), member]))
  return pasted.map((one) => {
    if (one.state === 'invalid') return { ...one, text: texts.isInvalid, isSent: false }
    if (one.state === 'repeated') return { ...one, text: texts.isRepeated, isSent: false }
    const member = known.get(one.address.toLowerCase())
    if (member === undefined) return { ...one, text: texts.willInvite, isSent: true }
    if (member.state === 'suspended') return { ...one, text: texts.isSuspended, isSent: false }
    if (isHigherRole(role, member.role)) return { ...one, text: texts.result_raised, isSent: true }
    const text = member.state === 'active' ? texts.isMember : texts.isInvited
    return { ...one, text, isSent: false }
  })
}

const PreviewTable = ({ of }: { readonly of: readonly Preview[] }) => {
  const { organisation: texts } = messages()
  return (
    <TableBox label={texts.preview} heading={[texts.address, texts.preview]}>
      {of.map(({ address, text, isSent }, at) => (
        <tr key={at}>
          <td>
            <bdi>{address}</bdi>
          </td>
          <td>
            <span class="badge" data-kind={isSent ? 'ok' : 'warn'}>
              {text}
            </span>
          </td>
        </tr>
      ))}
    </TableBox>
  )
}

const ResultTable = ({ of: { invited, skipped } }: { readonly of: Invited }) => {
  const { organisation: texts } = messages()
  return (
    <TableBox label={texts.result} heading={[texts.address, texts.result]}>
      {skipped.map(({ email, reason }, at) => (
        <tr key={`skipped ${at}`}>
          <td>
            <bdi>{email}</bdi>
          </td>
          <td>
            <span class="badge" data-kind="warn">
              {texts[`result_${reason}`]}
            </span>
          </td>
        </tr>
      ))}
      {invited.map(({ id, email, state }) => (
        <tr key={id}>
          <td>
            <bdi>{email}</bdi>
          </td>
          <td>
            <span class="badge" data-kind="ok">
              {state === 'active' ? texts.result_raised : texts.result_invited}
            </span>
          </td>
        </tr>
      ))}
    </TableBox>
  )
}

/** The form of the invitations. @param of `role`: the role of the user */
export const BulkInvite = (of: { readonly role: OrganisationRole }) => {
  const { organisation: texts } = messages()
  const all = useMembersAndGroups()
  const text = useSignal('')
  const role = useSignal<OrganisationRole>('member')
  const result = useSignal<Invited | null>(null)
  const preview = previewOf(addressesIn(text.value), all.data.value?.members ?? [], role.value)
  const sent = preview.filter(({ isSent }) => isSent)
  const invite = useAction(async () => {
    const invites = sent.map(({ address }) => ({ email: address, role: role.value }))
    const body = { invites }
    result.value = await dataOf(api.POST('/api/v1/org/members/bulk-invite', { body }))
    text.value = ''
    await all.reload()
  })
  const mayInvite = of.role !== 'member'
  const done = result.value
  return (
    <section class="card">
      <h2>{texts.invite}</h2>
      <p class="hint">{mayInvite ? texts.inviteLead : texts.managersOnly}</p>
      {done === null ? null : (
        <>
          <NoticeBox kind={done.invited.length === 0 ? 'warn' : 'ok'}>
            {filled(texts.inviteDone, { count: done.invited.length })}
          </NoticeBox>
          <ResultTable of={done} />
        </>
      )}
      <ActionForm
        action={invite}
        submit={filled(texts.inviteNow, { count: sent.length })}
        disabled={!mayInvite || sent.length === 0 || sent.length > MOST}
      >
        <TextField
          label={texts.pasted}
          value={text}
          rows={6}
          hint={filled(texts.pastedHint, { most: MOST })}
        />
        <SelectField
          label={texts.inviteRole}
          value={role}
          hint={texts.inviteRoleHint}
          options={ROLES.filter((one) => one !== 'owner' || of.role === 'owner').map((one) => [
            one,
            texts[`role_${one}`],
          ])}
        />
        <p role="status">
          {sent.length > MOST
            ? filled(texts.tooMany, { most: MOST })
            : preview.length === 0
              ? texts.noneFound
              : filled(texts.ready, { count: sent.length })}
        </p>
        {preview.length === 0 ? null : <PreviewTable of={preview} />}
      </ActionForm>
    </section>
  )
}
