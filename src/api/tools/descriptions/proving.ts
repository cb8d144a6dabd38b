/** Tools for this device, checks of words, stamps, and followed accounts. */
import type { Texts } from './text.ts'

export const proving: Texts<
  'status' | 'sync' | 'verify' | 'stamp' | 'verificationLog' | 'trustCards' | 'trust'
> = {
  status_read: {
    title: 'Read the state of this daemon',
    description:
      'Whether this daemon is signed in, its device and account server, and when it last synced. Look here first when other tools fail. Who the account is: context_read.',
  },
  sync_read: {
    title: 'Read what the last sync did',
    description:
      'When this device last synced with the account server, what was fetched and sent, and any error. Starts none: sync_run does.',
  },
  sync_run: {
    title: 'Sync now',
    description:
      'Exchange news with the account server now, with the result. Call it if an answer has sync_stale, rotation_pending or secret_unavailable, and after an invitation was approved: it takes the member in. It runs by itself every quarter of an hour.',
  },
  verify_words: {
    title: 'Check three words that a caller said',
    description:
      'Who says these words now? Compare who matched with who they claim to be, or give "expect" or "challenge_id"; a name alone is no proof. Words count once. Say "not verified" only if "conclusive" is true. 20 wrong tries a minute; pauses after 100.',
  },
  verify_challenge: {
    title: 'Draw a word to say before words are heard',
    description:
      'One word for the person to SAY; the speaker answers with three that are for this listener and this purpose alone. Have the person read "purpose" as it is answered. Then verify_words with challenge_id, once. At most 5 in 15 minutes.',
  },
  verify_public: {
    title: 'Look up public words',
    description:
      'Look up the words of a stranger, or of a stamp, at the account server, which learns them; those of connections are found here first. Proves less than verify_words: use that for people you are connected with. Report "nobody" only if "conclusive" is true.',
  },
  stamp_create: {
    title: 'Sign content',
    description:
      'Sign content in the name of this account, for everyone to check at verification_url. Give exactly one of content, content_base64 and sha256; sha256 for what makes the call exceed 4 MiB. Sign only what the person wants signed: a stamp is never taken back.',
  },
  verification_log_list: {
    title: 'List past checks of words',
    description:
      'Which checks of words were made, when, and with what outcome, newest first. The words themselves are not in it. Checks nothing: verify_words does.',
  },
  trust_cards_list: {
    title: 'List the people you follow',
    description:
      'People whose keys this device watches: key_status, safety number, your note. Their user_id is the id that trust_cards_update, _delete and _history take. Members of your connections: connections_list.',
  },
  trust_cards_create: {
    title: 'Follow a person',
    description:
      'Watch the keys of one person from now on; give exactly one of user_id and email. They get no message and no words from it: to exchange words, connections_create. Follows by email: 30 an hour.',
  },
  trust_cards_update: {
    title: 'Change a note or a name, or confirm keys',
    description:
      'Change your note on a person you follow, name them yourself, or confirm their keys. Set confirmed only after the person has compared the safety number by another way and seen it equal: it lets the new keys into your connections, and cannot be undone.',
  },
  trust_cards_delete: {
    title: 'Stop following a person',
    description:
      'Stop watching the keys of a person you follow; your note and confirmation are gone. They get no message, and connections with them stay: to end one, connections_delete or members_remove.',
  },
  trust_cards_history: {
    title: 'Read the history of a followed person',
    description:
      'The history of a person you follow, newest first: devices added and revoked, keys replaced, confirmed, words verified.',
  },
  trust_metrics: {
    title: 'Count followed people and checks',
    description:
      'Totals alone: how many people you follow, follow you and are confirmed; key changes and checks of words in 30 days. Each person: trust_cards_list. Of an organisation: org_analytics_dashboard.',
  },
}
