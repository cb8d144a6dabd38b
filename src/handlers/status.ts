import type { Status } from '../api/rest/status.ts'
import type { InferOutput } from 'valibot'
import type { Device } from '../device/device.ts'
import { isActive } from '../device/public-code.ts'
import { VERSION } from '../version.ts'
import type { Context, Handlers } from './context.ts'

type Found = Omit<InferOutput<typeof Status>, 'environment' | 'backend' | 'version' | 'keychain'>

/** null: does not apply to a caller who has neither a cache nor a device here. */
const ofMachine = (backend: string): Found => ({
  authenticated: true,
  device_registered: null,
  global_key_active: null,
  cached_connections: null,
  last_sync_at: null,
  summary: `A machine account’s token, good at ${backend}. It has no device here.`,
})

const without = (authenticated: boolean, summary: string): Found => ({
  authenticated,
  device_registered: false,
  global_key_active: false,
  cached_connections: 0,
  last_sync_at: null,
  summary,
})

function ofDevice(device: Device, refused: string | null, backend: string): Found {
  const { state, sync } = device
  const connections = state.connections.count()
  const plural = connections === 1 ? 'connection' : 'connections'
  return {
    authenticated: refused === null,
    device_registered: true,
    global_key_active: isActive(device),
    cached_connections: connections,
    last_sync_at: sync.lastGoodAt(),
    summary: refused ?? `Signed in to ${backend} with ${connections} ${plural} on this device.`,
  }
}

function found({ byMachine, device, home: { seat, backend } }: Context): Found {
  const at = backend()
  if (byMachine) return ofMachine(at)
  if (seat.identity() === null) return without(false, seat.absent().message)
  const refused = device?.sync.refused() ?? seat.refused()
  if (device !== null) return ofDevice(device, refused, at)
  return without(
    refused === null,
    refused ??
      `Signed in to ${at}; this device waits for approval and may only read: "countersignd whoami" shows its six words.`,
  )
}

export const status: Handlers['status'] = {
  read: async (_input, context) => {
    const { environment, backend, keychain } = context.home
    const { summary, ...rest } = found(context)
    return { ...rest, environment, backend: backend(), version: VERSION, summary, keychain }
  },
}
