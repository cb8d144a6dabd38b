import { generateKeyPairSync } from 'node:crypto'
import { thumbprint } from '../../../crypto/jose/jwk.ts'
import { AppError, type ErrorCode } from '../../../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import { itemAnswer } from '../../collection.ts'
import { printLabelled } from '../../labels.ts'
import {
  type HalfKey,
  completeKeyFile,
  createKeyFile,
  requireFolder,
  dropKeyFile,
  leftKey,
} from './machine-key-file.ts'

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
          ? `The key in ${path} belongs to a machine that an earlier run created. Give the same --org and --name as in that run, or another file.\n`
          : `It is not known whether the machine account was created. Its key is kept in ${path}. Run the same command again to finish. It does not create a second account.\n`,
      )
    throw error
  }
}

export const machineCreate: Command = {
  usage: '--org ORGANISATION --name NAME --key-file FILE [--json]',
  help: `
Creates a machine account in one of your organisations, for a headless daemon or for API tokens. Its key is
generated on this machine and written to a new file of mode 0600. Only the public key is sent. Without the key
file, no one can sign in as the machine. If the command fails because the answer of the server is lost, the key stays
in the file. Then run the same command again: it does not create a second account.

  --org ORGANISATION   the organisation, of which you must be an owner or admin
  --name NAME          the name of the machine
  --key-file FILE      the new file for the key

Then run one of these commands on the machine that will use the account:
"countersignd login --machine --key-file FILE" or "countersignd machine token --key-file FILE".`,
  examples: {
    'machine create --org Acme --name build-1 --key-file machine.json':
      'write the key of a new machine account',
  },
  options: {
    org: { type: 'string', takes: 'organisation' },
    name: { type: 'string' },
    'key-file': { type: 'string' },
  },
  needs: [['org'], ['name'], ['key-file']],
  args: [0, 0],
  check({ options: { 'key-file': file } }) {
    if (file === '')
      throw new UsageError('Give --key-file with the path of a new file for the key.')
    requireFolder(String(file))
    leftKey(String(file))
  },
  async run(invocation) {
    const { options, say } = invocation
    const { org, name, 'key-file': file } = options
    const path = String(file)
    const left = leftKey(path)
    const key = left ?? newKey()
    if (left === null) createKeyFile(path, key)
    const of = { organisation_id: String(org), name: String(name), key, isNew: left === null }
    const made = await registered(invocation, path, of)
    const { machine_id: machine, token_endpoint } = made
    // The machine signs its name, so the file must contain the typed name and not the name in the
    // server's answer.
    completeKeyFile(path, { ...key, machine, token_endpoint, name: of.name })
    printLabelled(invocation, made, {
      ...itemAnswer({ id: machine, name: made.name }),
      details: [['Key file', path]],
    })
    say('Anyone who can read that file can act as this machine.')
  },
}
