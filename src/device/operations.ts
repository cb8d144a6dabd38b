/**
 * Ids that are derived from an operation. If the operation is repeated after a crash or a lost
 * response, it derives the same ids, so it creates nothing twice.
 */
import { createHash } from 'node:crypto'
import { formatId } from '../crypto/encoding/id.ts'
import type { Act } from '../storage/idempotency.ts'

/**
 * Returns the id of an object that an operation creates.
 *
 * The id is a UUIDv7 (RFC 9562 section 5.7) with the operation's time. The other bits are a hash of
 * the operation.
 * @param what distinguishes the objects that one operation creates
 */
export function operationId(prefix: string, { id, at }: Act, what = ''): string {
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
