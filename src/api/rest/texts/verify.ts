/** The texts of `../verify.ts`, `../stamp.ts` and `../stamps.ts`. */
import type { Texts } from './text.ts'

export const verifyTexts: Texts<'verify' | 'stamp' | 'stamps' | 'verificationLog'> = {
  verify: {
    words: {
      summary: 'Check three words on this device',
      description:
        'Compares the words with the words of all your contacts, for this minute and the minutes before and after it. Correct words are accepted only once. The words do not leave the machine.\n\nWith `expect`, the words are compared only with those of one connection, person or guest; the words of other people then count as wrong. With `challenge_id`, the words are checked as the answer to that challenge. A challenge allows one try; a failure means that the words, the person or the purpose differ. An `old_epoch` in the answer means that the words are from before a routine change of the secret, at most 7 days ago. They prove nothing: ask the other person to open the app and say new words.\n\nLimits: after 20 wrong tries in a minute with one token, or 60 with all tokens together, the call returns 429. After 100 wrong tries in a row with one token, or 300 with all tokens, each further wrong try starts a pause of 1, 2, 4 … 60 minutes, until a try is correct.',
      tool: {
        title: 'Check three words that a caller said',
        description:
          'Find who says these words now. Compare the match with who the caller claims to be, or give "expect" or "challenge_id"; a name proves nothing. Words work once. Say "not verified" only if "conclusive" is true. 20 wrong tries a minute; pauses after 100.',
        // `again`: words are accepted only once.
        traits: ['again'],
      },
    },
    challenge: {
      summary:
        'Draw a challenge word to say, to hear words that are valid only for you and one purpose',
      description:
        'Use this on calls on which the listener and the purpose of the words matter, for example about a payment. Say the `word`. The other person enters it with your account and the purpose, and then says three words that are valid for no other listener, device or purpose. Check these words with `challenge_id`.\n\nA challenge allows one try within 15 minutes. A new challenge ends the open challenge of the same token and connection. The limit is 5 challenges in 15 minutes, for all tokens together. The `purpose` is normalised: show the purpose as the answer has it, because "1.200" and "12.00" both become `1200`.',
      tool: {
        title: 'Draw a challenge word to say',
        description:
          'Returns one word for your user to SAY. The speaker answers with three words that are valid only for this listener and purpose. Let your user read "purpose" as returned. Then call verify_words once with challenge_id. Limit: 5 in 15 minutes.',
        // `again`: a new challenge ends the open one.
        traits: ['again'],
      },
    },
    public: {
      summary: 'Look up three words at the account server',
      description:
        'Use this for words of a person you are not connected with. Words of your connections and guests are recognised on this device. All other words are sent to the account server, which looks for public codes and stamps. Report that no one was found only if `conclusive` is true. Words that were used before (`replayed`) and your own words (`echo`) belong to an account but prove nothing. The limit is 20 look-ups a minute.',
      tool: {
        title: 'Look up public words',
        description:
          'Look up the words of a stranger or a stamp. They are sent to the account server, unless they belong to one of your connections. Proves less than verify_words; use that for people you are connected with. Report "no one found" only if "conclusive" is true.',
        traits: ['again', 'outside'],
      },
    },
  },
  stamp: {
    create: {
      summary: 'Sign content on this device',
      description:
        'Signs content with the key of this device. The content stays on this device; the account server gets only the signed digest. Give exactly one of `content`, `content_base64` and `sha256`. A stamp cannot be taken back.',
      tool: {
        title: 'Sign content',
        description:
          'Sign content as this account; anyone can check it at verification_url. Give exactly one of content, content_base64 and sha256; use sha256 if the call would exceed 4 MiB. Sign only what your user wants signed: a stamp is never taken back.',
        traits: ['again', 'outside'],
      },
    },
  },
  stamps: {
    list: {
      summary: 'List the stamps of this device',
      description:
        'Lists what this device signed, newest first. `received_at` is null until the account server has the stamp; the next sync registers it, and until then the link shows nothing.',
    },
    read: {
      summary: 'Read a stamp of this device',
      description:
        'Returns a stamp with the parts of its file, as the answer to its creation had them.',
    },
    check: {
      summary: 'Check a stamp',
      description:
        'Checks a stamp file, or the stamp at a link of the account server, against the hash of the content that you have. The content is not sent. The signer is known if the stamp is of this account, a contact or a person whose keys this device follows, or if you give their `root`. The result is the same as that of `countersignd stamp verify`.',
    },
  },
  verificationLog: {
    list: {
      summary: 'List verifications',
      description:
        'Lists every check of words that this account made, including public look-ups, with the outcome, the person found and the token of the request. The words themselves are not stored.',
      tool: {
        title: 'List past checks of words',
        description:
          'Lists which checks of words were made, when, and with what outcome, newest first. The words themselves are not included. To check words, use verify_words.',
      },
    },
  },
}
