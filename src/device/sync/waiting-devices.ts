/** The devices of the own account that wait for approval, as the last sync found them. */
import type { ListedDevice } from '../../api/device/listed-devices.ts'
import type { WaitingDevice } from '../../api/rest/status.ts'
import type { State } from '../../state/state.ts'

/** The state of a device that does not wait. */
const APPROVED = 'approved'

type Waiting = Omit<WaitingDevice, 'id'>

/** Returns what is stored of a device in the list of devices. */
export const storedDevice = ({
  state,
  name,
  platform,
  created_at,
}: Omit<ListedDevice, 'id'>): string =>
  state === 'pending' ? JSON.stringify({ name, platform, created_at } satisfies Waiting) : APPROVED

/** Returns what `storedDevice` stored of a device; null if the device does not wait. */
export const waitingIn = (stored: string): Waiting | null =>
  stored === APPROVED ? null : (JSON.parse(stored) as Waiting)

/** Returns the devices that wait, the one that has waited longest first. */
export const waitingDevices = ({ listed }: Pick<State, 'listed'>): WaitingDevice[] =>
  [...(listed.of('devices') ?? [])]
    .flatMap(([id, stored]) => {
      const waiting = waitingIn(stored)
      return waiting === null ? [] : [{ id, ...waiting }]
    })
    .toSorted((a, b) => a.created_at.localeCompare(b.created_at))
