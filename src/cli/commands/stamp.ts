import { type FileHandle, open, readFile, rm, stat } from 'node:fs/promises'
import { CONTENT_BYTES } from '../../api/rest/stamp.ts'
import { jwkBytes, type PublicJwk } from '../../crypto/jose/jwk.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { StampFile } from '../../crypto/stamp.ts'
import { AppError } from '../../errors.ts'
import { sha256Of } from '../../releases/download.ts'
import { type Command, UsageError } from '../command.ts'
import { unreadable } from '../errors/file-errors.ts'
import { printLabelled, reachRow } from '../labels.ts'
import { optionsOf, textField, valuesOf } from '../option-fields.ts'

/**
 * Returns the bytes of a file.
 * @throws UsageError if the file cannot be read
 */
export const readBytes = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error)
  })

/** Returns the members of a JSON object in a file; an empty object for any other content. */
async function readMembers(path: string): Promise<Record<string, unknown>> {
  const text = (await readBytes(path)).toString('utf8')
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

/**
 * Reads a stamp file, or an answer of POST /api/v1/stamp, which contains the same members.
 * @param remedy the last sentence of the error about another file
 * @throws UsageError
 */
export async function readStampFile(
  path: string,
  remedy = 'Usage: countersignd stamp verify FILE STAMP',
): Promise<StampFile> {
  const noStamp = () => new UsageError(`"${path}" is not a stamp. ${remedy}`)
  const { stamp, key_log: keyLog, receipt } = await readMembers(path)
  const isLog = Array.isArray(keyLog) && keyLog.every((entry) => typeof entry === 'string')
  if (typeof stamp !== 'string' || !isLog) throw noStamp()
  // The API returns null if the account server did not give a receipt.
  const given = receipt ?? undefined
  if (given !== undefined && typeof given !== 'string') throw noStamp()
  return {
    stamp,
    key_log: keyLog as string[],
    ...(given === undefined ? {} : { receipt: given }),
  }
}

/**
 * Reads an Ed25519 public key from a file, as a JWK (RFC 8037).
 * @throws UsageError
 */
export async function readPublicKey(path: string): Promise<PublicJwk> {
  const jwk = (await readMembers(path)) as unknown as PublicJwk
  try {
    jwkBytes(jwk)
    return jwk
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new UsageError(
      `"${path}" is not an Ed25519 public key as a JWK of kty, crv and x: ${error.message}.`,
    )
  }
}

/**
 * Returns the content of a file up to CONTENT_BYTES, so that the stamp states its length.
 *
 * For a larger file, returns its hash.
 */
async function contentOf(file: string) {
  const { size } = await stat(file)
  if (size <= CONTENT_BYTES) return { content_base64: (await readFile(file)).toString('base64') }
  return { sha256: await sha256Of(file) }
}

/**
 * Creates a file and runs `work` to fill it. Deletes the file if `work` fails.
 * @throws AppError `conflict`
 */
async function fillNew<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'already exists' : `cannot be created (${error.code})`
    throw new AppError('conflict', `${path} ${why}. Name another file with --out.`)
  })
  try {
    return await work(file)
  } catch (error) {
    await rm(path)
    throw error
  } finally {
    await file.close()
  }
}

const FIELDS = { media_type: textField('media-type'), context: textField('context') }

export const stampCommand: Command = {
  usage: 'FILE [--out STAMP] [--media-type TYPE] [--context TEXT] [--json]',
  help: `
Signs a file with the key of this device, and writes the stamp to a new file. The content of the file does not leave
this machine.

Other people can check the stamp in three ways: with "countersignd stamp verify FILE STAMP --root ROOT", on the web
page of which this command prints the address, or with any library for JWS and Ed25519. They need the root of your
account, the value that shows that a stamp is yours. To see it, run "countersignd stamp verify FILE STAMP" here. Give
it to them in a way that they trust.

  --out STAMP         the new file for the stamp (default: FILE.stamp)
  --media-type TYPE   the media type of the file, for example application/pdf, stored in the stamp
  --context TEXT      a text that is stored in the stamp`,
  examples: {
    'stamp contract.pdf': 'write contract.pdf.stamp, and print its link',
    'stamp contract.pdf --context "Offer 12"': 'sign a text with the file',
  },
  options: { out: { type: 'string' }, ...optionsOf(FIELDS) },
  args: [1, 1],
  async run(invocation) {
    const { args, options, withApi, say } = invocation
    const [file = ''] = args
    const content = await contentOf(file).catch((error: NodeJS.ErrnoException) => {
      throw unreadable(file, error)
    })
    const path = String(options['out'] ?? `${file}.stamp`)
    // Create the file before anything is signed, so that a registered stamp cannot be lost.
    const made = await fillNew(path, async (to) => {
      const answer = await withApi((api) =>
        api.stamp.create({
          body: { ...content, ...valuesOf(FIELDS, options) },
        }),
      )
      const { stamp, key_log, receipt } = answer
      const contents = { stamp, key_log, ...(receipt === null ? {} : { receipt }) }
      await to.writeFile(`${JSON.stringify(contents, null, 2)}\n`)
      return answer
    })
    printLabelled(invocation, made, {
      bare: [made.words, made.verification_url],
      rows: [
        ['Words', `${made.words}  (to find it, no proof)`],
        ['Link', made.verification_url],
      ],
      details: [reachRow(made.reachable), ['File', path]],
    })
    if (made.receipt === null)
      say(
        'The account server could not be reached. The stamp is valid without a receipt. The address will work after the next sync.',
      )
  },
}
