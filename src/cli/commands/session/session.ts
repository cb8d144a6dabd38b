import { every } from '../../../api/cursor.ts'
import { byId } from '../../by-id.ts'
import type { Api, Command } from '../../command.ts'
import { table } from '../../table.ts'

/** Returns the names of the account’s devices and organisations by id. */
async function namesOf(api: Api): Promise<ReadonlyMap<string, string>> {
  const devices = await every((query) => api.devices.list(query))
  const { organisations } = await api.context.read({})
  return new Map([...devices, ...organisations].map(({ id, name }) => [id, name]))
}

export const sessionList: Command = {
  usage: '[--json]',
  help: `
Lists the sessions of the account, newest first: each device that is signed in has one, and acts in the organisation that was chosen
there ("countersignd org use").`,
  args: [0, 0],
  async run({ withApi, print }) {
    const { items, names } = await withApi(async (api) => ({
      items: await every((query) => api.sessions.list(query)),
      names: await namesOf(api),
    }))
    const named = (id: string) => names.get(id) ?? id
    print(
      { items },
      await table(
        ['ID', 'DEVICE', 'LAST SEEN', 'SINCE', 'ACTS IN'],
        items.map(({ id, device_id, current, active_organisation_id, ...times }) => [
          id,
          current ? `${named(device_id)} (this one)` : named(device_id),
          times.last_seen_at,
          times.created_at,
          active_organisation_id === null ? '' : named(active_organisation_id),
        ]),
      ),
    )
  },
}

export const sessionEnd: Command = {
  usage: 'ID [--json]',
  help: `
Ends the session of another device, at once. The device and its keys stay: it signs in again with "countersignd login". To be rid of a
device for good, use "countersignd device revoke". The session of the device you are at is not ended so: where it signed in, it leaves with
"countersignd logout"; an embedded account needs no sign-in, and has nothing to end.`,
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await byId('session', id, () => withApi((api) => api.sessions.delete({ id })))
    print({ id, state: 'ended' }, [])
    say(`Ended ${id}. Its device signs in again with "countersignd login".`)
  },
}
