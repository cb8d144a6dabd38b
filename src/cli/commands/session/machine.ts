import { generateKeyPairSync } from 'node:crypto'
import { thumbprint } from '../../../crypto/jose/jwk.ts'
import { AppError, type ErrorCode } from '../../../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import {
  type HalfKey,
  completeKeyFile,
  createKeyFile,
  requireFolder,
  dropKeyFile,
  leftKey,
} from './machine-key-file.ts'
import { organisationId } from '../organisations/organisations.ts'
import { shown } from '../../table.ts'

/** Generates a key on this machine. */
function newKey(): HalfKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  const jwk = { kty: 'OKP', crv: 'Ed25519', x } as const
  return { ...jwk, d, kid: thumbprint(jwk), alg: 'Ed25519' }
}

/**
 * The errors after which no account exists.
 *
 * After any other error an account may exist, because the answer may have been lost.
 */
const REFUSALS: readonly ErrorCode[] = [
  'validation_failed',
  'forbidden',
  'insufficient_scope',
  'not_found',
]

/**
 * Registers a key that is already stored in its file.
 *
 * The file is kept if the account may exist, because the account is useless without its key.
 */
async function registered(
  { io, withApi }: Invocation,
  path: string,
  of: { organisation_id: string; name: string; key: HalfKey; isNew: boolean },
): ReturnType<Api['machines']['create']> {
  const { organisation_id, name, key, isNew } = of
  const { kty, crv, x } = key
  const body = { organisation_id, name, key: { kty, crv, x } }
  try {
    return await withApi((api) => api.machines.create({ body }))
  } catch (error) {
    const code = error instanceof AppError ? error.code : null
    if (code !== null && REFUSALS.includes(code)) {
      if (isNew) dropKeyFile(path)
    } else
      io.stderr.write(
        code === 'conflict'
          ? `The key in ${path} is of a machine that an earlier run made: give the same --org and --name, or another file.\n`
          : `Whether the machine account was made is not known. Its key stays in ${path}: run the same command again, which finishes, and makes no second account.\n`,
      )
    throw error
  }
}

export const machineCreate: Command = {
  usage: '--org ID|NAME --name NAME --key-file FILE [--json]',
  help: `
Creates a machine account of an organisation of yours, for a headless daemon or for API tokens. Its key is made here and written to
FILE, mode 0600, which must not exist; only the public half is sent. Without the file no one can sign in as the machine.
If the server's response was lost, the key stays in FILE: run the same command again. It makes no second account.

  --org ID|NAME     the organisation, one that you own or administer; the id if several have the same name
  --name NAME       the name of the machine
  --key-file FILE   where its key is written

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
    if (name === undefined) throw new UsageError('--name is missing: the name of the machine.')
    if (file === undefined || file === '')
      throw new UsageError('--key-file is missing: the new file for the key.')
    const path = String(file)
    requireFolder(path)
    const left = leftKey(path)
    const organisation_id = await withApi((api) => organisationId(api, String(org)))
    const key = left ?? newKey()
    if (left === null) createKeyFile(path, key)
    const of = { organisation_id, name: String(name), key, isNew: left === null }
    const made = await registered(invocation, path, of)
    const { machine_id: machine, token_endpoint } = made
    // The machine signs its name, so the file must contain the typed name and not the name in the
    // server's answer.
    completeKeyFile(path, { ...key, machine, token_endpoint, name: of.name })
    print(made, `${machine}  ${shown(made.name)}`)
    say(`Wrote its key to ${path}. Every reader of that file can act as this machine.`)
  },
}
