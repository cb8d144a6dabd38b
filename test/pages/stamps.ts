/** Stamps of the pages' tests. */
import { createHash } from 'node:crypto'
import { ID_PREFIX, newId } from '../../src/crypto/encoding/id.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { signProfile } from '../../src/crypto/logs/profile.ts'
import { signReceipt, signStamp, stampFragment } from '../../src/crypto/stamp.ts'
import { firstOf, newDeviceKeys } from '../crypto/keys.ts'
import { T0 } from './browser.ts'
import type { Site } from './site.ts'

/** Creates a stamp on the site, with its file as the server serves it. */
export function stampOn(
  site: Site,
  of: { receipt?: boolean; ctx?: string; claim?: 'organisation'; name?: string } = {},
) {
  const content = Buffer.from('The transfer was agreed by telephone.\n')
  const [device, jti] = [ID_PREFIX.device, ID_PREFIX.stamp].map((p) => newId(p, T0))
  const [keys, server] = [newDeviceKeys(), newDeviceKeys()]
  const at = T0 / 1000
  const { account, entry: log } = firstOf(device!, keys, at - 60)
  const claims = {
    jti: jti!,
    iss: account,
    dev: device!,
    sha256: encodeBase64url(entryHash(content.toString())),
    len: content.length,
    media_type: 'text/plain',
    iat: at,
    clock: { source: 'server' as const, offset_ms: 3 },
    key_log: { seq: 0, head: encodeBase64url(entryHash(log)) },
    ctx: of.ctx ?? null,
    assurance: of.claim ?? ('device' as const),
  }
  const jws = signStamp(claims, thumbprint(keys.sign.jwk), keys.sign.secret)
  const seen = { received_at: at + 4, key_status: 'active', assurance: 'verified_email' } as const
  const receipt = signReceipt(jws, seen, thumbprint(server.sign.jwk), server.sign.secret)
  const signed = { account, device: device!, n: 1, name: of.name ?? 'Ann Ode' }
  const kid = thumbprint(keys.sign.jwk)
  const profile = signProfile({ ...signed, kid, seed: keys.sign.secret })
  const bare = { profile, stamp: jws, key_log: [log], receipt_key: server.sign.jwk }
  const file = of.receipt === false ? bare : { ...bare, receipt }
  site.stamps.set(jti!, file)
  const plain = `${site.origin}/s/${jti}`
  return {
    jti: jti!,
    account: account,
    device: device!,
    kid,
    root: createHash('sha256').update(log).digest('hex'),
    hex: createHash('sha256').update(content).digest('hex'),
    jws,
    file,
    receipt,
    content,
    plain,
    link: `${plain}#${stampFragment(jws)}`,
  }
}
