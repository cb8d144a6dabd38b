/**
 * The secrets and signatures of Standard Webhooks.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const KEY_BYTES = 32

/** Returns a new secret: `whsec_` and 32 bytes in base64. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(KEY_BYTES).toString('base64')

/**
 * Returns the headers that name and sign a message.
 * @param at the time of the attempt, Unix milliseconds
 */
export function signedHeaders(
  secret: string,
  { id, at, body }: { readonly id: string; readonly at: number; readonly body: string },
): Record<string, string> {
  const seconds = String(Math.floor(at / 1000))
  const signature = createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
    .update(`${id}.${seconds}.${body}`)
    .digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${signature}`,
  }
}
