import { createCommand, deleteCommand, listCommand } from '../collection.ts'
import { UsageError } from '../command.ts'
import { secondsField, textField } from '../option-fields.ts'

const SCOPES = ['read', 'write', 'full'] as const
const SCOPE_NEEDED = '--scope takes read, write or full.'

/**
 * Parses the value of `--scope`.
 * @throws UsageError
 */
function scopeIn(text: string): (typeof SCOPES)[number] {
  const scope = SCOPES.find((one) => one === text)
  if (scope === undefined) throw new UsageError(SCOPE_NEEDED)
  return scope
}

export const tokenList = listCommand({
  help: 'Lists API tokens, newest first. The tokens themselves are not kept and cannot be shown.',
  work: (api, query) => api.apiTokens.list(query),
  heading: ['ID', 'NAME', 'SCOPE', 'STATE', 'EXPIRES', 'LAST USED'],
  row: ({ id, name, scope, state, expires_at, last_used_at }) => [
    id,
    name,
    scope,
    state,
    expires_at ?? 'never',
    last_used_at ?? 'never',
  ],
})

export const tokenCreate = createCommand({
  usage: '--name NAME --scope read|write|full [--label LABEL] [--expires-in 30d] [--json]',
  help: `
Creates an API token and prints it, this once. It works whether or not the daemon runs.

  read   any GET
  write  also writes to your own data
  full   everything, organisation and token management included`,
  fields: {
    name: textField('name'),
    scope: textField('scope', scopeIn),
    label: textField('label'),
    expires_in: secondsField('expires-in'),
  },
  needed: { scope: SCOPE_NEEDED, name: '--name is missing: the purpose of the token.' },
  work: (api, body) => api.apiTokens.create({ body }),
  line: ({ token }) => token,
  next: ({ id, name, scope, expires_at }) =>
    `${id} "${name}", scope ${scope}, ${expires_at === null ? 'until revoked' : `until ${expires_at}`}. It is not shown again.`,
})

export const tokenRevoke = deleteCommand({
  kind: 'token',
  help: 'Revokes an API token. The next request that carries it is refused.',
  work: (api, id) => api.apiTokens.delete({ id }),
  state: 'revoked',
  done: (id) => `Revoked ${id}.`,
})
