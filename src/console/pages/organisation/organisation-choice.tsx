/** Which organisation this device works in, and the creation of another one. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { Name } from '../../ui/person-name.tsx'

type Context = Schemas['Context']
type Organisation = Context['organisations'][number]

const use = (id: string | null) =>
  dataOf(api.POST('/api/v1/context/active-org', { body: { organisation_id: id } }))

const OrganisationRow = (of: {
  readonly organisation: Organisation
  readonly isInUse: boolean
  readonly reload: () => Promise<void>
}) => {
  const { organisation: texts } = messages()
  const { id, name, role } = of.organisation
  const choose = useAction(async () => {
    await use(of.isInUse ? null : id)
    await of.reload()
  })
  return (
    <li>
      <span class="grow">
        <Name of={name} /> <span class="hint">{texts[`role_${role}`]}</span>{' '}
        {of.isInUse ? (
          <span class="badge" data-kind="ok">
            {texts.inUse}
          </span>
        ) : null}
        <FailureNotice of={choose.failure} />
      </span>
      <ActionButton action={choose} kind="small" about={name}>
        {of.isInUse ? texts.useNone : texts.use}
      </ActionButton>
    </li>
  )
}

const CreateOrganisation = ({ reload }: { readonly reload: () => Promise<void> }) => {
  const { organisation: texts } = messages()
  const name = useSignal('')
  const create = useAction(async () => {
    const { id } = await dataOf(api.POST('/api/v1/org', { body: { name: name.value.trim() } }))
    await use(id)
    name.value = ''
    await reload()
  })
  return (
    <ActionForm action={create} submit={texts.create}>
      <TextField
        label={texts.createName}
        value={name}
        hint={texts.createHint}
        required
        maxLength={100}
      />
    </ActionForm>
  )
}

/** The card with the organisations of the account. */
export const OrganisationChoice = (of: {
  readonly context: Context
  readonly reload: () => Promise<void>
}) => {
  const { organisation: texts } = messages()
  const { organisations, active_organisation: active } = of.context
  return (
    <>
      {organisations.length === 0 ? null : (
        <section class="card" aria-labelledby="org-yours">
          <h2 id="org-yours">{texts.yours}</h2>
          <p class="hint">{active === undefined ? texts.chooseLead : texts.switchLead}</p>
          <ul class="rows lines">
            {organisations.map((one) => (
              <OrganisationRow
                key={one.id}
                organisation={one}
                isInUse={one.id === active?.id}
                reload={of.reload}
              />
            ))}
          </ul>
        </section>
      )}
      <section class="card" aria-labelledby="org-create">
        <h2 id="org-create">{organisations.length === 0 ? texts.what : texts.create}</h2>
        {organisations.length === 0 ? <p>{texts.whatText}</p> : null}
        <CreateOrganisation reload={of.reload} />
      </section>
    </>
  )
}
