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
    list: 'Everybody whose keys this device follows, with the safety number to compare. A `key_status` of `changed_unverified` wants a look.',
    create:
      'From now on this device judges every change of their keys. They are not told who follows them. By mailbox it finds only somebody who has proven it.',
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
      'Makes the secret on this device, seals it to the devices of the account, and invites whoever is named, by mail where a mailbox is given. You are its owner. With `words: true`, four words come back for each invitation, this once: say them in person or on a call that you placed, within 15 minutes. A repetition under the same `Idempotency-Key` has none.',
    read: 'One connection with its members. `secret_here: false` means that this device cannot make or check its words yet.',
    update:
      'Name and favourite are yours alone: the other members keep theirs. What is left out stays.',
    delete:
      'Where others are in it, you leave, and coming back takes an invitation. Where nobody else is, or you are its only owner, it ends for everybody: the others find it as `ended` and delete it themselves. The secret is deleted here.',
    code: 'Your own words of this minute, to be said by whoever placed the call. What the others will say is never shown: check what you hear with `POST /api/v1/verify`. With `challenge`, the words for one `listener` who said that word, and for the `purpose`, to be shown as it is answered. Refused with `state: clock_uncertain` while the clock is known to have moved: sync, and ask again.',
    favorite:
      'The same as changing `favorite`, for clients that have a button: without a body it marks. Nobody else sees it.',
  },
  members: {
    add: 'For owners. A mailbox gets a mail and needs no account yet; whoever approves is taken in by the device that invited, at its next sync. 200 members are the most, invited ones included.',
    remove:
      'For owners; `mid` is the `id` that the members of the connection have, and of one who is only invited the invitation is withdrawn. Or for oneself: that is leaving, which the only owner among others cannot. Those who stay get a new secret at once, so that words of whoever is gone fail. Coming back takes an invitation.',
  },
  invitations: {
    list: 'All that were sent and received, answered ones included. Whether an invited mailbox has an account is not told until it approves.',
    pending: 'Those that wait: received ones for your answer, sent ones for that of others.',
    approve:
      'For the account that was invited. The device that invited takes you in at its next sync; then the connection is in your list. Approving twice changes nothing. The consent is for the inviter and the connection that this daemon listed for the invitation; if the account server names others, it is `backend_error` with `state` `other_invitation`, and nothing is signed. `invalid_state` with `state` `read_again`, after more than 10,000 were listed: the message names connection and inviter, and approving again is for these. The answer names the inviter. With `words`, the two devices first prove to each other that both have the same four words; the invitation is approved, and the inviter’s trust card confirmed, only if they do. That takes the inviter’s device, which must answer within 15 minutes: the request waits ten seconds, and answers `pending` while this device goes on asking. Refused as `invalid_state`: `wrong_words`, `words_expired`, `words_used`, `no_words`, `ad_mismatch`, `message_refused`, `too_many_tries` (three in 15 minutes), `under_way`.',
    decline:
      'For whoever was invited; who invited is told. It cannot be approved any more: coming in takes another invitation.',
    withdraw:
      'For whoever sent it, as long as it waits. It cannot be approved any more; a mail that was sent leads nowhere.',
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
      'Makes a secret on this device and a link that carries it: hand the link over yourself, it is shown once and the account server never sees its secret. It works for a week unless told.',
    delete:
      'The guest’s page shows no words from now on, and theirs verify no more. It cannot be undone; doing it again changes nothing.',
    qr: 'The image holds the secret link: show it to nobody but the guest. Only the device that made the code has it. A token of scope `read` gets 409 `secret_unavailable`.',
    send: 'Mails the link, to `to` or to the address of its external member. This is the one case in which the secret of a code passes through the account server.',
  },
  externalMembers: {
    list: 'Your own address book of people without an account; none of them is told of it.',
    create: 'Keeps a person whom guest codes can be for. Nothing is sent to them.',
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
    update: 'What the next invitations say follows it too. What is left out stays.',
    delete: 'Where it was the default, there is none from then on.',
    setDefault:
      'From now on a connection that names no preset begins with this one. The former default is one no more.',
    clearDefault: 'From now on a connection that names no preset begins with none.',
  },
  openLinks: {
    list: 'With how many requests wait at each.',
    create:
      'The page is public as soon as this answers. Whoever asks there proves a mailbox first, and is in nothing until you approve.',
    suggest: 'Nothing is reserved: somebody else may take it before you do.',
    delete: 'The page is gone and what was asked there is too; connections that came of it stay.',
    pause: 'The page stays and takes no requests; those that came before may still be answered.',
    resume: 'The page takes requests again.',
    slug: 'Whoever has the old address finds nothing there, and somebody else may take it.',
  },
  openLinkRequests: {
    list: 'Only those whose mailbox is proven, answered ones included. The name is what they wrote.',
    approve:
      'Takes the keys of this device: a connection is made with the preset of the link, and the mailbox gets an invitation to it. Approving twice changes nothing.',
    decline: 'It cannot be approved any more: whoever asked may ask again.',
  },
}
