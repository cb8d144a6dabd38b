/**
 * Ids that follow from an act: the same act makes the same thing, so that a request which is answered again, after a crash or a
 * server that was not heard, does nothing twice.
 */
import { createHash } from 'node:crypto'
import { formatId } from '../crypto/encoding/id.ts'
import type { Act } from '../storage/idempotency.ts'

/**
 * The id of what an act makes: UUIDv7 bytes (RFC 9562 section 5.7) with the time of the act, the rest derived.
 * @param what tells apart what one act makes
 */
export function idOf(prefix: string, { id, at }: Act, what = ''): string {
  const bytes = createHash('sha256')
    .update(id)
    .update(`${prefix}\0${what}`)
    .digest()
    .subarray(0, 16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return formatId(prefix, bytes)
}
