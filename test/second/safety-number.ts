/** Section 3: the safety number, over account ids and generation roots. */
import { type Bytes, concat, label, order, sha256, sha512 } from './bytes.ts'

export interface Side {
  readonly account: Bytes
  readonly root: Bytes
}

/** Returns the digest after 5,200 hashes, and twelve groups of five digits. */
export function safetyNumber(a: Side, b: Side): { digest: Bytes; groups: string[] } {
  const [low, high] = order(a.account, b.account) <= 0 ? [a, b] : [b, a]
  let digest = sha256(
    concat(label('countersign/v2/safety'), low.account, low.root, high.account, high.root),
  )
  for (let i = 1; i < 5200; i++) digest = sha256(digest)
  const wide = sha512(digest)
  const groups = Array.from({ length: 12 }, (_, i) => {
    const bytes = wide.slice(5 * i, 5 * i + 5)
    const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
    return String(value % 100_000).padStart(5, '0')
  })
  return { digest, groups }
}
