/** `complete-names`: prints names for completion. Only the completion scripts run it. */
import { withDaemon } from '../api.ts'
import type { Command, Commands } from '../command.ts'
import { namesAfter } from '../completion/names.ts'

/** The maximum number of words before the cursor. */
const MOST = 1_000

/**
 * Creates the command. It asks only a running daemon: a press of the tab key must not open the
 * state or create anything.
 */
export const completeNamesCommand = (commands: Commands): Command => ({
  usage: '-- WORD…',
  help: 'Prints the names that can follow these words, one per line.',
  args: [0, MOST],
  async run({ args, config, io, print }) {
    const quiet = { ...io, stderr: { write: () => undefined } }
    const names = await namesAfter(commands, args, (work) => withDaemon(config(), quiet, work))
    print({ names }, names)
  },
})
