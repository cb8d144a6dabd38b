import { byId } from '../../by-id.ts'
import type { Command } from '../../command.ts'
import { shown } from '../../table.ts'

export const rotateCommand: Command = {
  usage: 'CONNECTION [--json]',
  help: `
Gives a connection a new secret, at once; any member may. It is due after a member left or a device was revoked, and devices do it by
themselves at their next sync; until then nothing of the connection verifies. Words of the old secret prove nothing from then on.`,
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    const after = await withApi((api) => byId('connection', id, () => api.rosters.rotate({ id })))
    print(after, [])
    say(
      `"${shown(after.name)}" has a new secret (epoch ${after.epoch}). The others get it at their next sync; until then, their words do not verify here.`,
    )
  },
}
