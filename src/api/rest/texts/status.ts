/** The texts about the daemon's state: `../health.ts`, `../status.ts`, `../sync.ts`. */
import type { Texts } from './text.ts'

export const statusTexts: Texts<'health' | 'status' | 'sync'> = {
  health: {
    read: {
      summary: 'Check whether the daemon is up',
      description:
        'Answers as long as the process serves requests, signed in or not, and asks no other server: fit for a probe every second.',
    },
  },
  status: {
    read: {
      summary: 'Read the state of the daemon',
      description:
        'Whether this device is signed in, the address of the account server and whether it answers, and the time of the last sync. It answers within half a second also while the account server is away. What does not apply to a machine account is null.',
      tool: {
        title: 'Read the state of this daemon',
        description:
          'Whether this daemon is signed in, its device and account server, and when it last synced. Look here first when other tools fail. Who the account is: context_read.',
      },
    },
  },
  sync: {
    read: {
      summary: 'Read what the last sync did',
      description:
        'The result of the last sync, from any cause; starts none. `last_sync` is null until the first one ended.',
      tool: {
        title: 'Read what the last sync did',
        description:
          'When this device last synced with the account server, what was fetched and sent, and any error. Starts none: sync_run does.',
      },
    },
    run: {
      summary: 'Sync now and get the result',
      description:
        'Fetches what others changed and hands over what waits here, and answers when that is done: members who approved are taken in, secrets are sealed to new devices. It happens by itself every quarter of an hour, and at once after an act that other devices answer. A sync that fails is answered as an error, 502 to 504 where the account server is the cause; `GET` still has its report.',
      tool: {
        title: 'Sync now',
        description:
          'Exchange news with the account server now, with the result. Call it if an answer has sync_stale, rotation_pending or secret_unavailable, and after an invitation was approved: it takes the member in. It runs by itself every quarter of an hour.',
        traits: [],
      },
    },
  },
}
