/** Descriptions of the account and its data. */
import type { Rest } from '../../rest/index.ts'
import type { Descriptions } from './descriptions.ts'

export const account: Descriptions<
  Pick<
    Rest,
    | 'context'
    | 'profile'
    | 'profiles'
    | 'preferences'
    | 'notifications'
    | 'devices'
    | 'sessions'
    | 'emails'
    | 'exports'
    | 'account'
  >
> = {
  context: {
    read: 'The account of the token, a person’s or a machine’s, its organisations, and the active one of this session.',
    activeOrg:
      'What follows under /api/v1/org/ acts in it. For this session alone: other devices keep theirs. A machine account acts for its organisation always.',
  },
  profile: {
    read: 'With the public words of this minute if the public code is on: say them to people who are not connected to you. They check them with `POST /api/v1/verify/public`.',
    update:
      'Others see it at once; who follows you is shown that the name changed. A handle is given once over all accounts. What is left out stays.',
  },
  profiles: {
    read: 'Visible to every account: the name that they claim, which proves nothing. Follow them to have changes of their keys checked.',
    keys: 'The keys that signatures and secrets of theirs go by, checked against their key log. A `kid` of a stamp is the `id` of one of them.',
  },
  preferences: {
    read: 'Those of the account, on all its devices.',
    update:
      'Switching the public code on makes a secret on this device, and others can look up its words; switched off and on again, it has a new secret. Members that are left out stay.',
  },
  notifications: {
    list: 'The newest five hundred, and as many of those that strangers cause. `data` has the ids of what each is about.',
    delete: 'For this account only, and for good: `?id=…&id=…` names some, without it all go.',
    read: 'Without `ids` all are marked. What they are about does not change.',
  },
  devices: {
    list: 'Those that are signed in, and those that wait until they are approved by the words of both screens.',
    delete:
      'For an approved device. Its keys sign nothing any more, its session ends, the public code is switched off, and connections change their secrets. It cannot be undone: the device signs in anew.',
  },
  sessions: {
    list: 'Where and when the account was last seen, and the organisation each acts for.',
    delete:
      'Only another one: the session that asks is not ended here. Its device keeps its keys; to shut it out, revoke the device.',
  },
  emails: {
    list: 'Those that are proven and those that wait for their link to be followed.',
    create:
      'Until the link is followed the address is of no use. For one account at most three mails an hour go to one mailbox; the newest link counts.',
  },
  exports: {
    list: 'With how far each is. A finished one is kept for a week.',
    create:
      'Answers at once and builds in the background: ask for the list until it is `ready`. No secret is in it: they are on your devices, and that of the public code is left out.',
    clear: 'For good; links that were given for them lead nowhere.',
    download:
      'The link opens the file without a token: keep it to yourself. The link ends with the token of this request. 409 `export_not_ready` before the export is `ready`.',
  },
  account: {
    delete:
      'At the account server, and then the keys, tokens and all else of it on this machine. Nothing asks again and nothing brings it back; others see it as left.',
  },
}
