import { generateKeyPairSync } from 'node:crypto'
import { thumbprint } from '../crypto/jwk.ts'
import { isId } from '../crypto/id.ts'
import { AppError } from '../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from './command.ts'
import { type HalfKey, completeKeyFile, createKeyFile, dropKeyFile } from './machine-key-file.ts'
import { shown } from './table.ts'

/** A new key, made here and nowhere else. */
function newKey(): HalfKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  const jwk = { kty: 'OKP', crv: 'Ed25519', x } as const
  return { ...jwk, d, kid: thumbprint(jwk), alg: 'Ed25519' }
}

/** The organisation of an id or a name. */
async function organisationId(api: Api, named: string): Promise<string> {
  if (isId('org_', named)) return named
  const { organisations } = await api.context.read({})
  const [found, ...more] = organisations.filter(({ name }) => name === named)
  if (found !== undefined && more.length === 0) return found.id
  throw new AppError(
    'not_found',
    found === undefined
      ? `You are in no organisation "${shown(named)}". "countersignd org create" makes one.`
      : `Several of your organisations are called "${shown(named)}": give the id of one, as "countersignd whoami --json" shows it.`,
  )
}

/** Register a key that is in its file; the file goes when there is no account for it. */
async function registered(
  { withApi }: Invocation,
  path: string,
  of: { organisation_id: string; name: string; key: HalfKey },
): ReturnType<Api['machines']['create']> {
  const { kty, crv, x } = of.key
  try {
    return await withApi((api) => api.machines.create({ body: { ...of, key: { kty, crv, x } } }))
  } catch (error) {
    // Also when nobody knows whether the server made the account: without its key nobody can use it.
    dropKeyFile(path)
    throw error
  }
}

export const machineCreate: Command = {
  usage: '--org ID|NAME --name NAME --key-file FILE [--json]',
  help: `
Creates a machine account of an organisation of yours, for a headless daemon or for API tokens. Its key is made here and written to
FILE, mode 0600, which must not be there yet; only the public half is sent. Without the file nobody can sign in as it.

Then, on the machine it is for: "countersignd login --machine --key-file FILE", or "countersignd machine token --key-file FILE".`,
  options: {
    org: { type: 'string' },
    name: { type: 'string' },
    'key-file': { type: 'string' },
  },
  args: [0, 0],
  async run(invocation) {
    const { options, withApi, print, say } = invocation
    const { org, name, 'key-file': file } = options
    if (org === undefined)
      throw new UsageError('--org names the organisation; give its id or name.')
    if (name === undefined)
      throw new UsageError('--name says what the machine is called; give one.')
    if (file === undefined)
      throw new UsageError('--key-file says where its key is written; give one.')
    const path = String(file)
    const organisation_id = await withApi((api) => organisationId(api, String(org)))
    const key = newKey()
    createKeyFile(path, key)
    const made = await registered(invocation, path, { organisation_id, name: String(name), key })
    const { account_id: account, token_endpoint } = made
    completeKeyFile(path, { ...key, account, token_endpoint })
    print(made, `${account}  ${shown(made.name)}`)
    say(`Wrote its key to ${path}. Whoever reads that file is this machine.`)
  },
}
