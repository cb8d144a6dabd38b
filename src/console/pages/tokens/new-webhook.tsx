/** The form that creates a webhook, with its secret, which is shown once. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { CheckField, TextField, TicksField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'

/** The first part of the types of events. */
type Family<T> = T extends `${infer First}.${string}` ? First : never

/** All families of events; the compiler requires each. The value is whether it is chosen first. */
const FAMILIES: Readonly<Record<Family<Schemas['Event']['type']>, boolean>> = {
  verification: true,
  connection: false,
  member: false,
  invitation: false,
  first_contact: false,
  open_link_request: false,
  guest_code: false,
  trust: false,
  stamp: false,
  device: false,
  session: false,
  token: false,
  notification: false,
  sync: false,
  export: false,
  org: false,
  webhook: false,
}
type FamilyName = keyof typeof FAMILIES
const NAMES = Object.keys(FAMILIES) as FamilyName[]

/** Creates a webhook. `onMade` is called after it. */
export const NewWebhookForm = (of: { readonly onMade: () => Promise<void> }) => {
  const { tokens } = messages()
  const [url, name] = [useSignal(''), useSignal('')]
  const isPrivate = useSignal(false)
  const chosen = useSignal<readonly FamilyName[]>(NAMES.filter((one) => FAMILIES[one]))
  const secret = useSignal<string | null>(null)
  const action = useAction(async () => {
    const made = await dataOf(
      api.POST('/api/v1/webhooks', {
        body: {
          url: url.value.trim(),
          types: chosen.value.map((one) => `${one}.*`),
          name: name.value.trim() || null,
          private_network: isPrivate.value,
          // Otherwise the webhook would end with this window.
          ends_with_token: false,
        },
      }),
    )
    secret.value = made.secret
    url.value = ''
    name.value = ''
    await of.onMade()
  })
  return (
    <section class="card" aria-labelledby="new-webhook">
      <h2 id="new-webhook">{tokens.createHook}</h2>
      <RightsNotice needs="full" />
      {secret.value !== null ? (
        <>
          <NoticeBox kind="ok">{tokens.secretOnce}</NoticeBox>
          <p>
            <Copyable label={tokens.theSecret} value={secret.value}>
              <code class="long" translate={false}>
                {secret.value}
              </code>
            </Copyable>
          </p>
          <p>
            <button
              type="button"
              class="main"
              onClick={() => {
                secret.value = null
              }}
            >
              {tokens.done}
            </button>
          </p>
        </>
      ) : (
        <ActionForm
          action={action}
          submit={tokens.createHookIt}
          disabled={url.value.trim() === '' || chosen.value.length === 0 || !hasScope('full')}
        >
          <TextField
            label={tokens.address}
            hint={tokens.addressHint}
            type="url"
            value={url}
            required
            maxLength={2048}
          />
          <TextField label={tokens.hookName} value={name} maxLength={100} />
          <TicksField
            label={tokens.events}
            value={chosen}
            options={NAMES.map((family) => [family, tokens[family]] as const)}
          />
          <CheckField
            label={tokens.privateNetwork}
            hint={tokens.privateNetworkHint}
            value={isPrivate}
          />
        </ActionForm>
      )}
    </section>
  )
}
