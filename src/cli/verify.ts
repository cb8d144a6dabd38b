import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { EXIT } from '../errors.ts'
import type { Command } from './command.ts'
import { shown } from './table.ts'

export const verifyCommand: Command = {
  usage: '[WORD WORD WORD] [--json]',
  help: `
Checks three words against everybody this device knows, on this device. Without words they are read from standard input.

Whoever places the call speaks first. If you were called, say your own words ("countersignd code") only after this
command answered "Verified".

Exit code 0: verified. 10: not verified. 11: inconclusive, something could not be checked; do not take it for a "no".`,
  args: [0, 12],
  async run({ args, io, withApi, print }) {
    const words = args.length > 0 ? args.join(' ') : await text(Readable.from(io.stdin))
    const result = await withApi((api) => api.verify.words({ body: { words: words.trim() } }))
    print(result, shown(result.summary))
    if (result.verified && result.conclusive) return EXIT.ok
    return result.conclusive ? EXIT.notVerified : EXIT.inconclusive
  },
}
