/** Tests the second implementation with every file of test kit 2. */
import assert from 'node:assert/strict'
import { accountOf } from './account-id.ts'
import { checkOwn, checkReveal, commitment, shown, transcript, typedFits } from './approval.ts'
import { type Bytes, fromBase64url, hex, Refused, sha256, unhex, utf8 } from './bytes.ts'
import { checkPlace, type Log } from './chain.ts'
import { clockState } from './clock.ts'
import { code, codeKey, mac2, purposeShown } from './codes.ts'
import { channel, derive, finish, generatorString, type Session } from './cpace.ts'
import { verifySignature } from './edwards.ts'
import { openEnvelope } from './envelope.ts'
import { idText } from './ids.ts'
import { parseJson } from './json.ts'
import { expectFields, type Fields, run } from './kit.ts'
import { type KeyLog, rootOf, summary, verifyKeyLog } from './key-log.ts'
import { marks, type Profile, takeProfile } from './names.ts'
import { paperOf, readPaper } from './recovery.ts'
import { timesVerified } from './ristretto.ts'
import { kCommitsFit, rosterSummary, verifyRoster } from './roster.ts'
import { safetyNumber } from './safety-number.ts'
import { checkSealKey, decapsulateXWing } from './seal-key.ts'
import { wordsOf } from './words.ts'

/** Returns the raw bytes of the `_hex` fields named. */
const bytesOf = (of: Fields, name: string): Bytes => unhex(String(of[`${name}_hex`]))
const newcomerOf = (of: Fields) => ({
  account: bytesOf(of, 'account'),
  device: bytesOf(of, 'device'),
  sign: bytesOf(of, 'sign'),
  seal: bytesOf(of, 'seal_sha256'),
  auth: bytesOf(of, 'auth'),
})

run('account-id.json', {
  case: (of) => {
    if ('entries' in of) {
      expectFields(of, summary(verifyKeyLog(of['account'], of['entries'])))
      return
    }
    if ('seal_public_hex' in of)
      assert.equal(hex(sha256(bytesOf(of, 'seal_public'))), of['seal_sha256_hex'])
    const keys = {
      sign: bytesOf(of, 'sign'),
      seal: bytesOf(of, 'seal_sha256'),
      auth: bytesOf(of, 'auth'),
    }
    const id = accountOf(keys, bytesOf(of, 'salt'))
    expectFields(of, { account_hex: hex(id), account: idText('acc', id) })
  },
})

run('recovery.json', {
  case: (of) => {
    const paper = readPaper(of['input'])
    assert.deepEqual(paperOf(paper.seed), paper.words)
    expectFields(of, {
      seed_hex: hex(paper.seed),
      words: paper.words,
      indices: paper.indices,
      key_seed_hex: hex(paper.keySeed),
      public_hex: hex(paper.publicKey),
    })
  },
})

run('keylog.json', {
  case: (of, file) => {
    const texts = (of['entries'] as number[]).map((place) => file['pool'][place] as string)
    expectFields(of, summary(verifyKeyLog(of['account'], texts, of['known'])))
  },
})

run('approval.json', {
  sas: (of) => {
    const [nN, nO] = [bytesOf(of, 'nN'), bytesOf(of, 'nO')]
    const T = transcript(newcomerOf(of), of['seq'], bytesOf(of, 'head'), nN, nO)
    const C_hex = hex(commitment(newcomerOf(of), nN))
    expectFields(of, { C_hex, T_hex: hex(T), ...shown(T) })
    for (const { side, input, match } of of['typed'])
      assert.equal(typedFits(T, side, input), match, input)
  },
  reveal: (of) => checkReveal(bytesOf(of, 'C'), newcomerOf(of), bytesOf(of, 'nN')),
  'own-check': (of) => {
    const { sign, seal, auth } = of['keys']
    const keys = {
      sign: fromBase64url(sign.x),
      seal: fromBase64url(seal),
      auth: fromBase64url(auth.x),
    }
    const seq = checkOwn(of['account'], of['entries'], of['seen'], of['device'], keys)
    expectFields(of, { seq })
  },
})

run('cpace.json', {
  session: (of) => {
    const session: Session = {
      role: of['role'],
      prs: utf8(of['prs']),
      sid: bytesOf(of, 'sid'),
      ci: bytesOf(of, 'ci'),
      scalar: bytesOf(of, 'scalar'),
      ad: bytesOf(of, 'ad'),
      receivedShare: bytesOf(of, 'received_share'),
      receivedAd: bytesOf(of, 'received_ad'),
    }
    if ('connection_hex' in of && !('reason' in of)) {
      const ci = channel(bytesOf(of, 'connection'), bytesOf(of, 'inviter'))
      assert.equal(hex(ci), of['ci_hex'])
    }
    const keys =
      'received_tag_hex' in of
        ? finish(session, bytesOf(of, 'expected_ad'), bytesOf(of, 'received_tag'))
        : derive(session)
    expectFields(of, {
      generator_string_hex: hex(generatorString(session.prs, session.ci, session.sid)),
      generator_hex: hex(keys.generator),
      share_hex: hex(keys.share),
      K_hex: hex(keys.K),
      isk_hex: hex(keys.isk),
      mac_key_hex: hex(keys.macKey),
      tag_hex: hex(keys.tag),
    })
  },
  scalar: (of) => {
    const K = timesVerified(bytesOf(of, 'scalar'), bytesOf(of, 'point'))
    if (K === null) throw new Refused('cpace_abort')
    expectFields(of, { K_hex: hex(K) })
  },
})

run('roster.json', {
  case: (of, file) => {
    const logs = new Map<string, KeyLog>()
    const logOf = (account: string): KeyLog => {
      const known = logs.get(account)
      if (known !== undefined) return known
      const texts = (of['key_logs']?.[account] ?? file['key_logs'][account]) as string[]
      const upto = (of['logs_upto']?.[account] ?? texts.length - 1) as number
      const log = verifyKeyLog(account, texts.slice(0, upto + 1))
      logs.set(account, log)
      return log
    }
    const texts = (of['entries'] as number[]).map((place) => file['pool'][place] as string)
    const roster = verifyRoster(of['connection'], texts, of['known'], logOf)
    const sorted = { held: of['held'].toSorted(), unconfirmed: of['unconfirmed'].toSorted() }
    expectFields({ ...of, ...sorted }, rosterSummary(roster, logOf))
    assert.ok(kCommitsFit(roster, of['keys_hex']))
  },
})

run('envelope.json', {
  case: async (of, file) => {
    const newest = file['newest'][of['newest']] as Fields
    const held = (of['recipient_keys'] as Fields[]).map((key) => ({
      kid: fromBase64url(key['kid']),
      key: bytesOf(key, 'decapsulation_key'),
    }))
    const epoch = {
      connection: newest['connection'],
      epoch: newest['epoch'],
      epochHead: bytesOf(newest, 'epoch_head'),
      kCommit: fromBase64url(newest['k_commit']),
    }
    const { info, K } = await openEnvelope(of['envelope'], epoch, of['recipient'], held)
    expectFields(of, { info_hex: hex(info), key_hex: hex(K) })
  },
  // node:crypto cannot encapsulate from given randomness: `eseed_hex` is not run.
  kem: (of) => {
    const { publicKey, secret } = decapsulateXWing(
      bytesOf(of, 'decapsulation_key'),
      bytesOf(of, 'enc'),
    )
    expectFields(of, { public_hex: hex(publicKey), shared_secret_hex: hex(secret) })
  },
  'seal-key': (of) => checkSealKey(bytesOf(of, 'public'), bytesOf(of, 'seal_sha256')),
})

run('codes.json', {
  case: (of) => {
    if (!('key_hex' in of)) {
      purposeShown(of['purpose'])
      return
    }
    const kc = codeKey({
      label: of['label'] ?? 'countersign/v2/code',
      key: bytesOf(of, 'key'),
      subject: bytesOf(of, 'subject'),
      epoch: of['epoch'],
      head: bytesOf(of, 'head'),
    })
    const speaker = bytesOf(of, 'speaker')
    if (of['mac'] !== 2) {
      const indices = code(kc, of['window'], speaker)
      expectFields(of, { kc_hex: hex(kc), indices, words: wordsOf(indices) })
      return
    }
    const { window, challenge, purpose } = of as {
      window: number
      challenge: number
      purpose: string
    }
    const asked = { window, speaker, listener: bytesOf(of, 'listener'), challenge, purpose }
    const indices = mac2(kc, asked)
    expectFields(of, {
      kc_hex: hex(kc),
      challenge_word: wordsOf([challenge])[0],
      purpose_shown: purposeShown(purpose),
      purpose_sha256_hex: hex(sha256(utf8(purposeShown(purpose)))),
      indices,
      words: wordsOf(indices),
    })
  },
})

run('profile-names.json', {
  order: (of) => {
    const log = verifyKeyLog(of['account'], of['key_log'])
    let taken: Profile | null = null
    const results = (of['profiles'] as string[]).map((text) => {
      try {
        taken = takeProfile(text, log, taken)
        return 'taken'
      } catch (error) {
        if (error instanceof Refused) return error.reason
        throw error
      }
    })
    const { name, n } = (taken as Profile | null) ?? { name: null, n: null }
    expectFields(of, { results, name, n })
  },
  mark: (of) => expectFields(of, { marked: marks(of['name'], of['others']) }),
})

run('limits.json', {
  json: (of) => parseJson(utf8(of['text'])),
  ed25519: (of) => {
    const [key, message] = [bytesOf(of, 'public'), bytesOf(of, 'message')]
    if (!verifySignature(key, message, bytesOf(of, 'signature'))) throw new Refused('bad_signature')
  },
  place: (of) => checkPlace(of['log'] as Log, of['op'], of['seq']),
  keylog: (of) => {
    assert.equal(of['entries'][0].length, of['size'])
    verifyKeyLog(of['account'], of['entries'])
  },
  clock: (of) => {
    const moment = (wall: number, uptime: number) => ({
      wall: wall * 1000,
      uptime: uptime * 1000,
      start: 'the same',
    })
    const state = clockState({
      now: moment(of['wall'], of['boot']),
      reading: moment(of['measured_wall'], of['measured_boot']),
      offset: 0,
      lastGoodSync: of['last_good_sync'] * 1000,
      highestWindow: 0,
      embedded: false,
    })
    expectFields(of, { clock_uncertain: state !== 'steady' })
  },
})

run('safety-number.json', {
  case: (of) => expectSafetyNumber(of),
  logs: (of) => {
    for (const side of ['a', 'b']) {
      const account = idText('acc', bytesOf(of, side))
      const root = rootOf(verifyKeyLog(account, of[`${side}_log`]))
      assert.equal(hex(root), of[`${side}_root_hex`])
    }
    expectSafetyNumber(of)
  },
})

function expectSafetyNumber(of: Fields): void {
  const side = (name: string) => ({
    account: bytesOf(of, name),
    root: bytesOf(of, `${name}_root`),
  })
  const { digest, groups } = safetyNumber(side('a'), side('b'))
  expectFields(of, { digest_hex: hex(digest), groups })
}
