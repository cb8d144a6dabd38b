import { createCommand, deleteCommand, listCommand } from '../collection.ts'
import { UsageError } from '../command.ts'
import { secondsField, textField } from '../option-fields.ts'
import { whenOr } from '../times.ts'

const SCOPES = ['read', 'write', 'full'] as const

/**
 * Parses the value of `--scope`.
 * @throws UsageError
 */
function scopeIn(text: string): (typeof SCOPES)[number] {
  const scope = SCOPES.find((one) => one === text)
  if (scope === undefined) throw new UsageError(`--scope: "${text}" is not read, write or full.`)
  return scope
}

export const tokenList = listCommand({
  help: 'Lists API tokens, newest first. The tokens themselves are not stored, so they cannot be shown.',
  work: (api, query) => api.apiTokens.list(query),
  heading: ['ID', 'NAME', 'SCOPE', 'STATE', 'EXPIRES', 'LAST USED'],
  row: ({ id, name, scope, state, expires_at, last_used_at }) => [
    id,
    name,
    scope,
    state,
    whenOr('never', expires_at),
    whenOr('never', last_used_at),
  ],
})

export const tokenCreate = createCommand({
  usage: '--name NAME --scope read|write|full [--label LABEL] [--expires-in 30d] [--json]',
  help: `
Creates an API token and prints it. The token is shown only once. The command works with or without a running daemon.

  --name NAME         a name that says what the token is for
  --scope SCOPE       what the token allows:
                      read    all GET requests
                      write   read, and changes to your own data
                      full    everything, including managing organisations and tokens
  --label LABEL       a note of your own, which "token list --json" shows
  --expires-in 30d    how long the token is valid (default: until it is revoked)`,
  examples: {
    'token create --name ci --scope read': 'print a token that can only read',
    'token create --name deploy --scope write --expires-in 30d': 'a token that ends after 30 days',
  },
  fields: {
    name: textField('name'),
    scope: textField('scope', scopeIn),
    label: textField('label'),
    expires_in: secondsField('expires-in'),
  },
  needed: ['name', 'scope'],
  work: (api, body) => api.apiTokens.create({ body }),
  shows: ({ token, id, name, scope, expires_at }) => ({
    bare: token,
    rows: [['Token', token]],
    details: [
      ['Name', name],
      ['Scope', scope],
      ['Valid until', whenOr('revoked', expires_at)],
      ['Id', id],
    ],
  }),
  next: () => 'The token is not shown again.',
})

export const tokenRevoke = deleteCommand({
  kind: 'token',
  help: 'Revokes an API token. From the next request on, the token is rejected.',
  work: (api, id) => api.apiTokens.delete({ id }),
  state: 'revoked',
  done: (token) => `Revoked ${token}.`,
})
