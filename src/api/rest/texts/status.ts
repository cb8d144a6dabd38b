/**
 * The texts about the daemon's state: `../health.ts`, `../metrics.ts`, `../status.ts`,
 * `../sync.ts` and `../doctor.ts`.
 */
import type { Texts } from './text.ts'

export const statusTexts: Texts<'health' | 'metrics' | 'status' | 'sync' | 'doctor'> = {
  health: {
    read: {
      summary: 'Check whether the daemon is up',
      description:
        'Answers while the process serves requests, whether it is signed in or not. It contacts no other server, so you can probe it every second.',
    },
    ready: {
      summary: 'Check what the daemon depends on',
      description:
        'Lists the state folder, the keychain, the account, the account server, the clock and the sync; for an embedded account server also its database and mail. Fails with 507 `storage_full` or 503 `keychain_locked` if the daemon cannot work, with the same list as `dependencies`. If only the account server is away, the daemon is ready, because words, checks and stamps still work. Writes nothing, and examines at most once a second.',
    },
  },
  metrics: {
    read: {
      summary: 'Read the metrics of the daemon',
      description:
        'For Prometheus, in OpenMetrics; a client that accepts only `text/plain` gets the older text format. No label contains an id, an address or a name. A machine account’s token gets 409 `no_device`. The delays of the event loop are measured from the first request on.',
    },
  },
  status: {
    read: {
      summary: 'Read the state of the daemon',
      description:
        'Shows whether this device is signed in, the address of the account server and whether it answers, and the time of the last sync. The call returns within half a second even if the account server cannot be reached. Fields that do not apply to a machine account are null.',
      tool: {
        title: 'Read the state of this daemon',
        description:
          'Shows whether this daemon is signed in, its device and account server, and when it last synced. Call this first when other tools fail. To see who the account is, use context_read.',
      },
    },
  },
  sync: {
    read: {
      summary: 'Read what the last sync did',
      description:
        'Returns the result of the last sync, whether it was automatic or requested. It does not start a sync. `last_sync` is null until the first sync has ended.',
      tool: {
        title: 'Read what the last sync did',
        description:
          'Shows when this device last synced with the account server, what was fetched and sent, and any error. To start a sync, use sync_run.',
      },
    },
    run: {
      summary: 'Sync now and get the result',
      description:
        'Fetches the changes of others and sends the pending changes of this device, and returns when both are done. For example, it adds members who have approved and seals secrets to new devices. A sync also runs automatically every 15 minutes, and immediately after an action that other devices answer. If the sync fails, the call returns an error: 502 to 504 if the account server is the cause. `GET` then returns the report of the failed sync.',
      tool: {
        title: 'Sync now',
        description:
          'Exchange changes with the account server now, and return the result. Call it if an answer has sync_stale, rotation_pending or secret_unavailable, or to add a member who approved an invitation. A sync also runs automatically every 15 minutes.',
        traits: [],
      },
    },
  },
  doctor: {
    read: {
      summary: 'Check the installation of this daemon',
      description:
        'Runs `countersignd doctor` in a process of its own, and returns its findings, which name paths and settings but no secrets. It takes some seconds, and at most 60. Requests that arrive during a run share its result.',
    },
  },
}
