/**
 * Descriptions about people: connections and their order, guests, open links, followed accounts.
 */
import type { Rest } from '../../rest/index.ts'
import type { Descriptions } from './descriptions.ts'

export const connections: Descriptions<
  Pick<
    Rest,
    | 'trustCards'
    | 'trust'
    | 'connections'
    | 'members'
    | 'invitations'
    | 'contactWords'
    | 'firstContacts'
    | 'guestCodes'
    | 'externalMembers'
    | 'tags'
    | 'presets'
    | 'openLinks'
    | 'openLinkRequests'
  >
> = {
  trustCards: {
    list: 'The people whose keys this device follows, with the safety number to compare. Check a `key_status` of `changed_unverified`.',
    create:
      'From now on this device checks every change of their keys. They get no message. By mailbox, only its proven owner is found.',
    update:
      'Confirm only after comparing the safety number by another way: in connections that you own, the person keeps their seat with the new keys. The note and the `name` are yours alone: the name stays on this device and leads in its answers.',
    delete:
      'Their keys are not judged any more and the note is gone. Connections with them stay as they are.',
    history: 'How their keys came, changed and were confirmed or used, newest first.',
  },
  trust: {
    metrics: 'How many you follow and confirmed, and what happened to their keys in thirty days.',
  },
  connections: {
    list: 'Those in which you are a member, with members, tags and whether this device holds the secret. `name_source` is the source of a member’s name: `self` is a claim.',
    create:
      'Makes the secret on this device, seals it to the devices of the account, and invites the named people, by mail if a mailbox is given. You are its owner. With `words: true`, four words come back for each invitation, this once: say them in person or on a call that you placed, within 15 minutes. A repetition under the same `Idempotency-Key` has none.',
    read: 'One connection with its members. `secret_here: false` means that this device cannot make or check its words yet.',
    update:
      'Name and favourite are yours alone: the other members keep theirs. What is left out stays.',
    delete:
      'If it has other members, you leave, and need an invitation to come back. If it has none, or if you are its only owner, it ends for all: the others see it as `ended` and delete it themselves. The secret is deleted here.',
    code: 'Your own words of this minute; the caller speaks first. The words of the others are never shown: check those that you hear with `POST /api/v1/verify`. With `challenge`, the words for one `listener` who said that word, and for the `purpose`, to be shown as it is answered. Refused with `state: clock_uncertain` while the clock is known to have moved: sync, and ask again.',
    favorite:
      'The same as changing `favorite`, for clients that have a button: without a body it marks. Others do not see it.',
  },
  members: {
    add: 'For owners. A mailbox gets a mail and needs no account yet; the inviting device adds each person who approves, at its next sync. 200 members are the most, invited ones included.',
    remove:
      'For owners; `mid` is the `id` that the members of the connection have, and of one who is only invited the invitation is withdrawn. Or for oneself: that is leaving, which the only owner among others cannot. The other members get a new secret at once, so that the words of the removed member fail. Coming back takes an invitation.',
  },
  invitations: {
    list: 'All that were sent and received, answered ones included. Whether an invited mailbox has an account is hidden until it approves.',
    pending: 'Those that wait: received ones for your answer, sent ones for that of others.',
    approve:
      'For the account that was invited. The device that invited takes you in at its next sync; then the connection is in your list. Approving twice changes nothing. The consent is for the inviter and the connection that this daemon listed for the invitation; if the account server names others, it is `backend_error` with `state` `other_invitation`, and nothing is signed. `invalid_state` with `state` `read_again`, after more than 10,000 were listed: the message names connection and inviter, and approving again is for these. The answer names the inviter. With `words`, the two devices first prove to each other that both have the same four words; the invitation is approved, and the inviter’s trust card confirmed, only if they do. That takes the inviter’s device, which must answer within 15 minutes: the request waits ten seconds, and answers `pending` while this device goes on asking. Refused as `invalid_state`: `wrong_words`, `words_expired`, `words_used`, `no_words`, `ad_mismatch`, `message_refused`, `too_many_tries` (three in 15 minutes), `under_way`.',
    decline:
      'For the invited account; the inviter gets a notification. It cannot be approved any more: joining takes another invitation.',
    withdraw:
      'For its sender, as long as it waits. It cannot be approved any more; the link in its mail stops working.',
  },
  contactWords: {
    create:
      'Words that were made before for it end. The words are good for one try and for 15 minutes, and this device alone answers the one who types them, so the daemon must run. Say them in person or on a call that you placed; never write them.',
  },
  firstContacts: {
    list: 'What is open, and what ended within a day, newest first. The words are never shown here.',
  },
  guestCodes: {
    list: 'With your own words of this minute for each guest, to say. `code` is null for one that has ended or whose secret another device holds, and for all while the clock is known to have moved.',
    create:
      'Makes a secret on this device and a link that carries it: hand the link over yourself, it is shown once and the account server never sees its secret. It works for a week by default.',
    delete:
      'The guest’s page shows no words from now on, and theirs verify no more. It cannot be undone; doing it again changes nothing.',
    qr: 'The image holds the secret link: show it only to the guest. Only the device that made the code has it. A token of scope `read` gets 409 `secret_unavailable`.',
    send: 'Mails the link, to `to` or to the address of its external member. This is the one case in which the secret of a code passes through the account server.',
  },
  externalMembers: {
    list: 'Your own address book of people without an account; they get no message.',
    create: 'Adds a person without an account, for guest codes. Nothing is sent to them.',
    delete: 'The guest codes that are for them end at once, and nothing brings those back.',
  },
  tags: {
    list: 'With the number of connections that carry each.',
    create: 'A tag is yours alone, and its name is so once: a second one of the name is refused.',
    update: 'Changes it on every connection that carries it. What is left out stays.',
    delete: 'It is taken off every connection and out of every preset; nothing else changes.',
    assign: 'Only you see it there. Assigning it again changes nothing.',
    unassign: 'The tag itself stays, on others too.',
  },
  presets: {
    list: 'The default one has `is_default`.',
    create:
      'Nothing happens until a connection is made with it: by its id, or without naming one where it is the default.',
    update: 'Later invitations use the changed preset, too. Members that are left out stay.',
    delete: 'Where it was the default, there is none from then on.',
    setDefault:
      'From now on a connection that names no preset begins with this one. The former default is one no more.',
    clearDefault: 'From now on a connection that names no preset begins with none.',
  },
  openLinks: {
    list: 'With how many requests wait at each.',
    create:
      'The page is public as soon as this answers. A person who asks there proves a mailbox first, and joins nothing until you approve.',
    suggest: 'Nothing is reserved: others may take it before you do.',
    delete: 'The page is gone and what was asked there is too; connections that came of it stay.',
    pause: 'The page stays and takes no requests; those that came before may still be answered.',
    resume: 'The page takes requests again.',
    slug: 'The old address stops working, and others may take it.',
  },
  openLinkRequests: {
    list: 'Only those with a proven mailbox, answered ones included. The name is only claimed.',
    approve:
      'Takes the keys of this device: a connection is made with the preset of the link, and the mailbox gets an invitation to it. Approving twice changes nothing.',
    decline: 'It cannot be approved any more; the same person may ask again.',
  },
}
