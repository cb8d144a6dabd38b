import { byId } from '../../by-id.ts'
import { itemLine } from '../../collection.ts'
import { type Command, UsageError } from '../../command.ts'
import { shown, typedName } from '../../table.ts'

export const orgCreate: Command = {
  usage: 'NAME [--json]',
  help: `
Creates an organisation, with you as its owner. To make it the current organisation of this device, use
"countersignd org use". To create machine accounts in it, use "countersignd machine create".`,
  examples: {
    'org create Acme': 'create an organisation',
  },
  args: [1, 1],
  async run({ args: [name = ''], withApi, print, say }) {
    const made = await withApi((api) => api.organisations.create({ body: { name } }))
    print(made, itemLine(made))
    say(
      `To make it the current organisation of this device: countersignd org use ${typedName(made)}`,
    )
  },
}

export const orgUse: Command = {
  usage: 'ORGANISATION | --none [--json]',
  help: `
Chooses the current organisation of this device. The "countersignd org …" commands work in the current organisation.
Your other devices keep their own choice. The choice lasts until the device signs in again.

  --none   have no current organisation`,
  examples: {
    'org use Acme': 'choose the organisation for the other "org" commands',
  },
  options: { none: { type: 'boolean' } },
  args: [0, 1],
  takes: ['organisation'],
  async run({ args: [id], options, withApi, print, say }) {
    if ((id === undefined) !== (options['none'] === true))
      throw new UsageError('Give an organisation, or --none.')
    const body = { organisation_id: id ?? null }
    const context = await byId('organisation', () =>
      withApi((api) => api.context.activeOrg({ body })),
    )
    print(context, [])
    const { active_organisation: active } = context
    say(
      active === undefined
        ? 'This device has no current organisation now.'
        : `The current organisation of this device is now "${shown(active.name)}". Your role: ${active.role}.`,
    )
  },
}
