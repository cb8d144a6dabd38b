import type { Command } from './command.ts'
import { shown } from './table.ts'

export const orgCreate: Command = {
  usage: 'NAME [--json]',
  help: 'Creates an organisation, with you as its owner. Organisations have machine accounts: see "countersignd machine create".',
  args: [1, 1],
  async run({ args: [name = ''], withApi, print }) {
    const made = await withApi((api) => api.organisations.create({ body: { name } }))
    print(made, `${made.id}  ${shown(made.name)}`)
  },
}
