import { byId } from '../by-id.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command.ts'
import { parseSeconds } from '../duration.ts'
import { every } from '../../api/cursor.ts'
import { table } from '../table.ts'

const SCOPES = ['read', 'write', 'full'] as const
const isScope = (text: unknown): text is (typeof SCOPES)[number] =>
  SCOPES.some((scope) => scope === text)

export const tokenList: Command = {
  usage: '[--json]',
  help: 'Lists API tokens, newest first. The tokens themselves are not kept and cannot be shown.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.apiTokens.list(query)))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'SCOPE', 'STATE', 'EXPIRES', 'LAST USED'],
        items.map(({ id, name, scope, state, expires_at, last_used_at }) => [
          id,
          name,
          scope,
          state,
          expires_at ?? 'never',
          last_used_at ?? 'never',
        ]),
      ),
    )
  },
}

export const tokenCreate: Command = {
  usage: '--name NAME --scope read|write|full [--label LABEL] [--expires-in 30d] [--json]',
  help: `
Creates an API token and prints it, this once. It works whether or not the daemon runs.

  read   any GET
  write  also writes to your own data
  full   everything, organisation and token management included`,
  options: {
    name: { type: 'string' },
    scope: { type: 'string' },
    label: { type: 'string' },
    'expires-in': { type: 'string' },
  },
  args: [0, 0],
  async run({ options, withApi, print, say }) {
    const { name, scope, label, 'expires-in': lifetime } = options
    if (!isScope(scope)) throw new UsageError('--scope takes read, write or full.')
    if (name === undefined) throw new UsageError('--name is missing: the purpose of the token.')
    const body = {
      name: String(name),
      scope,
      ...(label === undefined ? {} : { label: String(label) }),
      ...(lifetime === undefined
        ? {}
        : { expires_in: parseSeconds('expires-in', String(lifetime)) }),
    }
    const made = await withApi((api) => api.apiTokens.create({ body }))
    print(made, made.token)
    say(
      `${made.id} "${made.name}", scope ${made.scope}, ${made.expires_at === null ? 'until revoked' : `until ${made.expires_at}`}. It is not shown again.`,
    )
  },
}

export const tokenRevoke: Command = {
  usage: 'ID [--json]',
  help: 'Revokes an API token. The next request that carries it is refused.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await byId('token', id, () => withApi((api) => api.apiTokens.delete({ id })))
    print({ id, state: 'revoked' }, [])
    say(`Revoked ${id}.`)
  },
}
