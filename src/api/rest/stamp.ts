import * as v from 'valibot'
import { Jws, Sha256Hex, Time, id, named, text, wellFormed } from '../fields.ts'
import type { Routes } from '../route.ts'
import { StampAssurance } from './verify.ts'

/** The maximum body size in bytes: enough for 8 MiB of content as base64 or as JSON text. */
const LIMIT = 12 * 1024 * 1024
/**
 * The maximum size of content that may be sent, in bytes. Larger content is stamped by its digest.
 */
export const CONTENT_BYTES = 8 * 1024 * 1024

export const NewStamp = named(
  'NewStamp',
  v.pipe(
    v.strictObject({
      content: v.optional(
        v.pipe(
          v.string(),
          wellFormed,
          v.description('Text, signed as its UTF-8 bytes; or else content_base64 or sha256.'),
        ),
      ),
      content_base64: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(
            Math.ceil(CONTENT_BYTES / 3) * 4,
            'The content may have at most 8 MiB. Stamp larger files by sha256.',
          ),
          // A flat pattern. valibot's own base64 pattern recurses, so content of a few megabytes
          // overflows its stack.
          v.regex(/^[A-Za-z0-9+/]*={0,2}$/, 'Expected base64 (RFC 4648 section 4).'),
          v.check((text) => text.length % 4 === 0, 'Expected base64 with its padding.'),
          v.description('Bytes, in base64; or else content or sha256.'),
        ),
      ),
      sha256: v.optional(
        v.pipe(
          Sha256Hex,
          v.description(
            'SHA-256 of the content in lower-case hex, which is all that is sent of it; or else content or content_base64.',
          ),
        ),
      ),
      media_type: v.optional(
        v.nullable(
          v.pipe(
            v.string(),
            v.maxLength(127),
            v.regex(
              /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w!#$&^.+-]+=[\w!#$&^.+"-]+)*$/,
              'Expected a media type such as text/plain.',
            ),
            v.description('The media type of the content, such as text/plain; signed too.'),
          ),
        ),
      ),
      context: v.optional(
        v.nullable(v.pipe(text(500), v.description('What the content is for; signed too.'))),
      ),
    }),
    v.check(
      (body) =>
        [body.content, body.content_base64, body.sha256].filter((x) => x !== undefined).length ===
        1,
      'Give exactly one of content, content_base64 and sha256.',
    ),
    v.description('Exactly one of content, content_base64 and sha256 is given.'),
  ),
)

export const Stamp = named(
  'Stamp',
  v.object({
    id: id('stm_'),
    words: v.pipe(v.string(), v.description('A look-up hint, never evidence.')),
    signed_at: Time,
    assurance_level: StampAssurance,
    verification_url: v.pipe(v.string(), v.description('The page a recipient opens to check it.')),
    sha256: Sha256Hex,
    stamp: Jws,
    key_log: v.pipe(
      v.array(Jws),
      v.description('The key log of the signer: with `stamp` and `receipt` a whole stamp file.'),
    ),
    receipt: v.pipe(
      v.nullable(Jws),
      v.description("The account server's receipt; null while it is out of reach."),
    ),
  }),
)

export const stamp = {
  create: {
    method: 'POST',
    path: '/api/v1/stamp',
    by: 'daemon',
    errors: ['conflict', 'no_device', 'not_signed_in'],
    body: NewStamp,
    limit: LIMIT,
    reply: Stamp,
    status: 201,
  },
} as const satisfies Routes
