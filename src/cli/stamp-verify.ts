import { readFile } from 'node:fs/promises'
import { type PublicJwk, jwkBytes } from '../crypto/jwk.ts'
import { Refusal } from '../crypto/refusal.ts'
import { type StampFile, verifyStamp } from '../crypto/stamp.ts'
import { timeAt } from '../api/fields.ts'
import { EXIT } from '../errors.ts'
import { type Command, UsageError } from './command.ts'
import { shown } from './table.ts'

const read = (path: string) =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`)
  })

async function readJson(path: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse((await read(path)).toString('utf8'))
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch (error) {
    if (error instanceof UsageError) throw error
  }
  throw new UsageError(`${path} is not JSON.`)
}

/** A stamp file, or the answer of POST /api/v1/stamp, which holds one. */
async function stampFile(path: string): Promise<StampFile> {
  const { stamp, key_log: keyLog, receipt } = await readJson(path)
  const isLog = Array.isArray(keyLog) && keyLog.every((entry) => typeof entry === 'string')
  if (typeof stamp !== 'string' || !isLog)
    throw new UsageError(`${path} is not a stamp file: it has no "stamp" and "key_log".`)
  // The answer of the interface says null where the account server gave none.
  const given = receipt ?? undefined
  if (given !== undefined && typeof given !== 'string')
    throw new UsageError(`${path} is not a stamp file: its "receipt" is not a text.`)
  return {
    stamp,
    key_log: keyLog as string[],
    ...(given === undefined ? {} : { receipt: given }),
  }
}

async function publicKey(path: string): Promise<PublicJwk> {
  const jwk = (await readJson(path)) as unknown as PublicJwk
  try {
    jwkBytes(jwk, 'Ed25519')
    return jwk
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new UsageError(
      `${path} is not an Ed25519 public key as a JWK of kty, crv and x: ${error.message}.`,
    )
  }
}

export const stampVerify: Command = {
  usage: 'FILE STAMP [--receipt-key JWK_FILE] [--json]',
  help: `
Checks offline that the key log in STAMP holds and that its signature is over exactly the content of FILE. Who the account is,
the stamp alone cannot say: compare the account id or the key with what its owner told you.

  --receipt-key JWK_FILE   the public key of the account server, to check the receipt and so the time of receipt; it is
                           the "receipt_key" of /s/{id}/file on the account server

Exit code 0: good. 10: not good.`,
  options: { 'receipt-key': { type: 'string' } },
  args: [2, 2],
  async run({ args: [file = '', stamp = ''], options, print }) {
    const content = new Uint8Array(await read(file))
    const given = await stampFile(stamp)
    const keyFile = options['receipt-key']
    const serverKey = keyFile === undefined ? undefined : await publicKey(String(keyFile))
    try {
      const facts = verifyStamp(given, {
        content,
        ...(serverKey === undefined ? {} : { serverKey }),
      })
      const { payload, receipt, words, device } = facts
      const signedAt = timeAt(payload.iat * 1000)
      const assurance = receipt?.assurance ?? payload.assurance
      const receivedAt = receipt === null ? null : timeAt(receipt.received_at * 1000)
      print(
        {
          valid: true,
          account_id: payload.iss,
          device_id: device,
          signed_at: signedAt,
          received_at: receivedAt,
          assurance_level: assurance,
          media_type: payload.media_type,
          context: payload.ctx,
          words: words.join(' '),
        },
        [
          'Good: the signature is over exactly this content.',
          `account      ${payload.iss}`,
          `device       ${device}`,
          `signed at    ${signedAt} (as the signer says)`,
          `received at  ${receivedAt ?? (serverKey === undefined ? 'not checked: give --receipt-key' : 'the stamp holds no receipt')}`,
          `assurance    ${assurance}`,
          ...(payload.ctx === null ? [] : [`context      ${shown(payload.ctx)}`]),
        ],
      )
      return EXIT.ok
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      print({ valid: false, reason: error.reason }, `Not good (${error.reason}): ${error.message}`)
      return EXIT.notVerified
    }
  },
}
