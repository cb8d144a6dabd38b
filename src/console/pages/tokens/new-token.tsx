/** The form that creates a token, which is shown once. */
import { useSignal, type Signal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { useResultFocus } from '../../ui/focus.ts'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { hasScope } from '../../ui/rights-notice.tsx'
import { SnippetList } from './snippets.tsx'

type Scope = Schemas['ApiToken']['scope']
type Made = Schemas['MintedToken']

const DAY_S = 86_400

/** The lifetimes to choose from, in seconds; null for no end. */
const LIFETIMES = {
  day: DAY_S,
  month: 30 * DAY_S,
  quarter: 90 * DAY_S,
  year: 365 * DAY_S,
  unlimited: null,
} as const
type Lifetime = keyof typeof LIFETIMES

const SCOPES: readonly Scope[] = ['read', 'write', 'full']

/** The choice of the rights, each with examples. */
const ScopeChoice = ({ value }: { readonly value: Signal<Scope> }) => {
  const { tokens } = messages()
  const texts = { read: tokens.readText, write: tokens.writeText, full: tokens.fullText }
  const id = useId()
  return (
    <fieldset class="choice">
      <legend>{tokens.scope}</legend>
      {SCOPES.map((scope) => (
        <div class="field check" key={scope}>
          <input
            id={`${id}-${scope}`}
            type="radio"
            name={id}
            checked={value.value === scope}
            aria-describedby={`${id}-${scope}-hint`}
            onChange={() => {
              value.value = scope
            }}
          />
          <label for={`${id}-${scope}`}>{tokens[scope]}</label>
          <p class="hint" id={`${id}-${scope}-hint`}>
            {texts[scope]}
          </p>
        </div>
      ))}
    </fieldset>
  )
}

const MadeToken = (of: { readonly made: Made; readonly onDone: () => void }) => {
  const { tokens } = messages()
  const { name, token } = of.made
  const box = useResultFocus()
  return (
    <div ref={box} tabIndex={-1}>
      <NoticeBox kind="ok">{tokens.shownOnce}</NoticeBox>
      <p>
        <Copyable label={filled(tokens.theToken, { name })} value={token}>
          <code class="long" translate={false}>
            {token}
          </code>
        </Copyable>
      </p>
      <details>
        <summary>{tokens.useIt}</summary>
        <SnippetList made={of.made} />
      </details>
      <p>
        <button type="button" class="main" onClick={of.onDone}>
          {tokens.done}
        </button>
      </p>
    </div>
  )
}

/** Creates a token. */
export const NewTokenForm = () => {
  const { tokens } = messages()
  const name = useSignal('')
  const scope = useSignal<Scope>('read')
  const lifetime = useSignal<Lifetime>('quarter')
  const made = useSignal<Made | null>(null)
  const action = useAction(async () => {
    const expires_in = LIFETIMES[lifetime.value]
    const body = { name: name.value.trim(), scope: scope.value, expires_in }
    made.value = await dataOf(api.POST('/api/v1/api-tokens', { body }))
    name.value = ''
  })
  return (
    <section class="card" aria-labelledby="new-token">
      <h2 id="new-token">{tokens.create}</h2>
      {made.value !== null ? (
        <MadeToken
          made={made.value}
          onDone={() => {
            made.value = null
          }}
        />
      ) : (
        <ActionForm
          action={action}
          submit={tokens.createIt}
          disabled={name.value.trim() === '' || !hasScope('full')}
        >
          <TextField
            label={tokens.name}
            hint={tokens.nameHint}
            value={name}
            required
            maxLength={100}
          />
          <ScopeChoice value={scope} />
          <SelectField
            label={tokens.expiry}
            value={lifetime}
            options={(Object.keys(LIFETIMES) as Lifetime[]).map((one) => [one, tokens[one]])}
          />
        </ActionForm>
      )}
    </section>
  )
}
